import type { How } from './batch.js'
import {
  baselineBootId,
  isMarked,
  type Machine,
  type Member,
  type NodeRecord,
  type QuarantineMark,
} from './model.js'
import { unsettled } from './quorum.js'

/** What a stopped or marked member needs before anything running is taken down (CKS-11, CKS-22). */
export type Recovery =
  | { readonly kind: 'none' }
  /** An operation is under way: look again. */
  | { readonly kind: 'wait'; readonly why: string }
  | { readonly kind: 'do'; readonly how: How; readonly why: string }
  /** Only a person can tell what is to be done. */
  | { readonly kind: 'leave'; readonly why: string }

export interface RecoveryOptions {
  readonly differs: boolean
  readonly startStopped: boolean
}

/** What recovery asks of one member. A node without marks on a running machine needs none. */
export function recoveryOf(member: Member, options: RecoveryOptions): Recovery {
  const { machine, node } = member
  const marked = node !== null && isMarked(node.marks)
  if (node !== null && node.marks.unreadable.length > 0) {
    return { kind: 'leave', why: `its marks cannot be read (${node.marks.unreadable.join(', ')})` }
  }
  const busy = unsettled(machine)
  if (busy !== null) return { kind: 'wait', why: busy }
  if (machine.power === 'stopped') {
    if (!marked && !options.startStopped) return { kind: 'leave', why: 'stopped, and startStopped is false' }
    return { kind: 'do', how: 'start', why: marked ? 'stopped by a rollout that ended' : 'stopped' }
  }
  if (!marked || node === null) return { kind: 'none' }
  const rebooted = bootedSince(node)
  if (rebooted && !options.differs) return { kind: 'do', how: 'return', why: 'came back by itself' }
  if (node.marks.acting === null && node.marks.failure === null && !options.differs) {
    return { kind: 'do', how: 'return', why: 'cordoned by a rollout that ended before it acted' }
  }
  const was = node.marks.quarantine === null ? 'marked by a rollout that ended' : 'in quarantine'
  return { kind: 'do', how: 'roll', why: `${was}${options.differs ? ', out of date' : ''}` }
}

/** Has the node booted since it was marked? Without a boot id on either side the answer is no: unknown proves nothing. */
export function bootedSince(node: NodeRecord): boolean {
  const before = baselineBootId(node.marks)
  if (node.bootId === null) return false
  // A machine that was off when it was marked may have had no boot id to record; then any boot id is a new one.
  if (before === null) return node.marks.attempt !== null && node.marks.attempt.bootId === null
  return node.bootId !== before
}

/** `in quarantine since …: why`, for everybody who lists such a node. */
export function sayQuarantine({ at, reason }: QuarantineMark): string {
  return `in quarantine since ${at}: ${reason}`
}

/** What release does with one node (CKS-21). */
export type ReleaseDecision =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'giveBack'; readonly why: string }
  | { readonly kind: 'leave'; readonly why: string }

/**
 * CKS-21: gives back a marked node that (a) is Ready with a new boot id and has no failure mark, or (b) has no acting
 * mark, has the same boot id, and whose machine runs with no operation in progress. The rest stays for someone to look at,
 * and so does a node in quarantine, whatever became of it.
 */
export function releaseDecision(node: NodeRecord, machine: Machine | null): ReleaseDecision {
  const { marks } = node
  if (!isMarked(marks)) return { kind: 'nothing' }
  if (marks.unreadable.length > 0)
    return { kind: 'leave', why: `its marks cannot be read (${marks.unreadable.join(', ')})` }
  if (marks.failure !== null)
    return { kind: 'leave', why: `failed in ${marks.failure.step}: ${marks.failure.reason}` }
  // The rollout was to go on without it: only one that drains it ends that.
  if (marks.quarantine !== null) return { kind: 'leave', why: sayQuarantine(marks.quarantine) }
  if (node.ready === 'ready' && bootedSince(node))
    return { kind: 'giveBack', why: 'ready with a new boot id' }
  if (marks.acting !== null) {
    return {
      kind: 'leave',
      why: bootedSince(node)
        ? `${marks.acting.act} was under way, booted since, not ready`
        : `${marks.acting.act} was under way and the boot id is the old one`,
    }
  }
  if (machine === null) return { kind: 'leave', why: 'its machine is not at the provider' }
  const busy = unsettled(machine)
  if (busy !== null) return { kind: 'leave', why: busy }
  if (machine.power !== 'running') return { kind: 'leave', why: `its machine is ${machine.power}` }
  const before = baselineBootId(marks)
  if (node.bootId === before || before === null) return { kind: 'giveBack', why: 'nothing was done to it' }
  return { kind: 'leave', why: 'booted since it was marked, not ready' }
}
