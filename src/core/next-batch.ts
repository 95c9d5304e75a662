import type { Batch, BatchNode, How, PoolCounts, Position, Skip } from './batch.js'
import { isUnavailable, LARGEST_BATCH, takeWithinBudget, unavailableClamp } from './budget.js'
import {
  type Machine,
  type MachineType,
  type Member,
  NO_SETTINGS,
  type NodeRecord,
  nameOf,
  type PoolSettings,
} from './model.js'
import { inRollOrder } from './order.js'
import { comparableGroups, differences, sayDifference } from './out-of-date.js'
import { cannotLoseANode } from './quorum.js'
import { recoveryOf, sayQuarantine } from './recovery.js'
import type { EffectivePool } from './settings.js'

/** Everything a batch is decided on, read just now. */
export interface RolloutFacts {
  readonly pools: readonly EffectivePool[]
  readonly members: readonly Member[]
  readonly outsiders: readonly NodeRecord[]
  /** Pools whose stored settings cannot be applied, and why (CKS-04). Their stopped nodes are still started. */
  readonly skippedPools: Readonly<Record<string, string>>
  readonly startStopped: boolean
  /** Who asks: a quarantine mark with this name is of the running rollout. Absent for a plan. */
  readonly holder?: string
  /** Names that go last in their pool: etcd's leader, and nodes that noderoll's workers run on. */
  readonly goLast: readonly string[]
}

export type NextBatch =
  | { readonly kind: 'batch'; readonly batch: Batch; readonly view: FleetView }
  /** `blocked`: the nodes this rollout leaves in quarantine, and why. */
  | { readonly kind: 'done'; readonly view: FleetView; readonly blocked?: readonly Skip[] }
  /** A machine is on its way somewhere; nothing is decided before it has arrived. */
  | { readonly kind: 'wait'; readonly why: readonly string[]; readonly view: FleetView }

/** What goes with every answer: counts, what is skipped and why, clamps in words. */
export interface FleetView {
  readonly counts: readonly PoolCounts[]
  readonly skipped: readonly Skip[]
  /** How many there are, where the list holds only the first of them. */
  readonly skippedCount?: number
  readonly notes: readonly string[]
  /** Nodes in quarantine at the moment. Histories of before have none. */
  readonly quarantined?: readonly Skip[]
}

/**
 * The next nodes to be worked on, from what is there now: recovery first (CKS-11), then out-of-date nodes in the order
 * of CKS-08 within the budget of CKS-09. Nothing is remembered, so a crash, a second run or a changed fleet needs no
 * reconciliation (CKS-22).
 */
export function nextBatch(facts: RolloutFacts, position: Position): NextBatch {
  const plan = sortOut(facts, position)
  const view: FleetView = {
    counts: countPools(facts),
    skipped: plan.skipped,
    notes: clampNotes(facts, position),
    quarantined: inQuarantine(facts.members),
  }
  if (plan.waiting.length > 0) return { kind: 'wait', why: plan.waiting, view }
  const batch =
    recoveryBatch(facts, position, plan.recovery) ??
    ordinaryBatch(facts, position, plan.outOfDate) ??
    lastTry(facts, position, plan.again)
  return batch === null ? { kind: 'done', view, blocked: plan.blocked } : { kind: 'batch', batch, view }
}

function inQuarantine(members: readonly Member[]): Skip[] {
  return members.flatMap((member) => {
    const mark = member.node?.marks.quarantine ?? null
    return mark === null ? [] : [{ name: nameOf(member), pool: member.pool, why: sayQuarantine(mark) }]
  })
}

interface Work {
  readonly member: Member
  readonly how: How
  readonly why: string
}

interface SortedOut {
  readonly recovery: readonly Work[]
  readonly outOfDate: readonly Work[]
  /** Put in quarantine by this rollout: they come when nothing else is left. */
  readonly again: readonly Work[]
  /** Of those, the ones that have had their last try. */
  readonly blocked: readonly Skip[]
  readonly skipped: readonly Skip[]
  readonly waiting: readonly string[]
}

function sortOut(facts: RolloutFacts, position: Position): SortedOut {
  const recovery: Work[] = []
  const outOfDate: Work[] = []
  const again: Work[] = []
  const blocked: Skip[] = []
  const skipped: Skip[] = []
  const waiting: string[] = []
  const left = new Map(position.leave.map((skip) => [skip.name, skip]))
  const cannotLose = typesThatCannotLose(facts)
  const skip = (member: Member, why: string) => skipped.push({ name: nameOf(member), pool: member.pool, why })

  for (const member of inRollOrder(
    facts.members,
    facts.pools.map((pool) => pool.name),
    facts.goLast,
  )) {
    const leave = left.get(nameOf(member))
    if (leave !== undefined) {
      skipped.push(leave)
      continue
    }
    const found = differences(member.machine, settingsOf(facts, member.pool))
    const differs = found.length > 0
    const need = recoveryOf(member, {
      differs: differs && !(member.pool in facts.skippedPools),
      startStopped: facts.startStopped,
    })
    if (need.kind === 'wait') waiting.push(need.why)
    else if (need.kind === 'leave') skip(member, need.why)
    else if (need.kind === 'none' && !differs) continue
    else {
      const how = need.kind === 'do' ? need.how : 'roll'
      const poolSkipped = facts.skippedPools[member.pool]
      const stays = cannotLose[member.type]
      if (how === 'roll' && stays !== null) skip(member, `${member.type} cannot lose a node: it is ${stays}`)
      else if (how === 'roll' && poolSkipped !== undefined) skip(member, poolSkipped)
      else if (how === 'roll' && isOurQuarantine(facts, member)) {
        if (position.retried?.includes(member.machine.id)) blocked.push(...inQuarantine([member]))
        else again.push({ member, how, why: 'in quarantine, tried once more' })
      } else if (need.kind === 'do') recovery.push({ member, how, why: need.why })
      else outOfDate.push({ member, how, why: found.map(sayDifference).join(', ') })
    }
  }
  return { recovery, outOfDate, again, blocked, skipped, waiting }
}

function isOurQuarantine(facts: RolloutFacts, member: Member): boolean {
  const mark = member.node?.marks.quarantine ?? null
  return mark !== null && mark.rollout === facts.holder
}

/**
 * Starting and returning take nothing down, so they go together; a marked node that still runs is taken down within the
 * budget, after all of those (CKS-11: nothing running is taken down until the others are back or skipped).
 */
function recoveryBatch(facts: RolloutFacts, position: Position, recovery: readonly Work[]): Batch | null {
  const harmless = recovery.filter((work) => work.how !== 'roll')
  const [first] = harmless.length > 0 ? harmless : recovery
  if (first === undefined) return null
  const same = (harmless.length > 0 ? harmless : recovery).filter(
    (work) => work.member.pool === first.member.pool,
  )
  const chosen =
    first.member.type !== 'worker'
      ? [first]
      : harmless.length > 0
        ? same.slice(0, LARGEST_BATCH)
        : withinBudget(facts, position, same)
  return toBatch(facts, chosen, true)
}

function ordinaryBatch(facts: RolloutFacts, position: Position, outOfDate: readonly Work[]): Batch | null {
  const [first] = outOfDate
  if (first === undefined) return null
  if (first.member.type !== 'worker') return toBatch(facts, [first], false)
  const same = outOfDate.filter((work) => work.member.pool === first.member.pool)
  return toBatch(facts, withinBudget(facts, position, same), false)
}

function lastTry(facts: RolloutFacts, position: Position, again: readonly Work[]): Batch | null {
  const [first] = again
  if (first === undefined) return null
  const same = again.filter((work) => work.member.pool === first.member.pool)
  const batch = toBatch(facts, withinBudget(facts, position, same), true)
  return batch === null ? null : { ...batch, again: true }
}

function withinBudget(facts: RolloutFacts, position: Position, works: readonly Work[]): Work[] {
  const [first] = works
  if (first === undefined) return []
  const pool = facts.members.filter((member) => member.pool === first.member.pool)
  const { count } = unavailableClamp(maxUnavailableOf(facts, position, first.member.pool), pool.length)
  const taken = new Set(
    takeWithinBudget(
      works.map((work) => work.member),
      pool,
      count,
    ),
  )
  return works.filter((work) => taken.has(work.member))
}

function toBatch(facts: RolloutFacts, works: readonly Work[], recovery: boolean): Batch | null {
  const [first] = works
  if (first === undefined) return null
  const { pool, type } = first.member
  return { pool, type, recovery, nodes: works.map((work) => toBatchNode(facts, work)) }
}

function toBatchNode(facts: RolloutFacts, { member, how, why }: Work): BatchNode {
  const { machine, node } = member
  // A pool that is skipped keeps its machines as they are, also while one of them is started.
  // Nor is a machine changed whose Node is gone: which pool it is of is certain only when it has joined again.
  const unknown = node === null && member.type !== 'etcd'
  const wants = unknown || member.pool in facts.skippedPools ? NO_SETTINGS : settingsOf(facts, member.pool)
  return {
    node: node?.name ?? null,
    machineId: machine.id,
    machineName: machine.name,
    providerId: machine.providerId,
    pool: member.pool,
    type: member.type,
    how,
    etcdMember:
      member.type === 'etcd' ||
      (member.type === 'control' && !facts.members.some((one) => one.type === 'etcd')),
    why,
    was: settingsOfMachine(machine),
    wants,
  }
}

export function settingsOfMachine(machine: Machine): BatchNode['was'] {
  return {
    offering: machine.offering,
    rootDiskGiB: machine.rootDiskGiB,
    affinityGroups: comparableGroups(machine),
  }
}

function settingsOf(facts: RolloutFacts, poolName: string): PoolSettings {
  return facts.pools.find((pool) => pool.name === poolName)?.settings ?? NO_SETTINGS
}

function maxUnavailableOf(facts: RolloutFacts, position: Position, poolName: string) {
  const pool = facts.pools.find((one) => one.name === poolName)
  return position.maxUnavailable[poolName] ?? pool?.maxUnavailable ?? { count: 1 }
}

function typesThatCannotLose(facts: RolloutFacts): Record<MachineType, string | null> {
  return {
    etcd: cannotLoseANode('etcd', facts.members, facts.outsiders),
    control: cannotLoseANode('control', facts.members, facts.outsiders),
    worker: null,
  }
}

/** Machines, out of date and unavailable, per pool. */
export function countPools(facts: Pick<RolloutFacts, 'pools' | 'members'>): PoolCounts[] {
  return facts.pools.map((pool) => {
    const members = facts.members.filter((member) => member.pool === pool.name)
    return {
      pool: pool.name,
      type: pool.type,
      machines: members.length,
      outOfDate: members.filter((member) => differences(member.machine, pool.settings).length > 0).length,
      unavailable: members.filter(isUnavailable).length,
    }
  })
}

function clampNotes(facts: RolloutFacts, position: Position): string[] {
  return facts.pools
    .filter((pool) => pool.type === 'worker')
    .flatMap((pool) => {
      const workers = facts.members.filter((member) => member.pool === pool.name).length
      const { clamped } = unavailableClamp(maxUnavailableOf(facts, position, pool.name), workers)
      return clamped === null || workers === 0 ? [] : [`pool ${pool.name}: ${clamped}`]
    })
}
