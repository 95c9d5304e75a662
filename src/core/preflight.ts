import type { Batch, BatchNode } from './batch.js'
import { batchNodeName } from './batch.js'
import {
  type EtcdMember,
  type EtcdView,
  type Health,
  isMarked,
  type Member,
  type NodeRecord,
  nameOf,
} from './model.js'
import { expectedVoters, mayLeave } from './quorum.js'
import { recoveryOf } from './recovery.js'

export interface PreflightFacts {
  readonly members: readonly Member[]
  readonly outsiders: readonly NodeRecord[]
  /** Null where the batch needs no control-plane view: workers only. */
  readonly etcd: EtcdView | null
  readonly etcdReady: Health | null
  /** API servers of the other control nodes, by name. */
  readonly apiServers: Readonly<Record<string, Health>>
}

export interface PreflightOptions {
  readonly tolerateUnready: number
  readonly startStopped: boolean
  /** Names that do not hold up a batch: nodes the rollout was told to leave alone. */
  readonly leave: readonly string[]
}

/** Why the batch cannot go yet, one sentence each; empty when it may (CKS-12, CKS-13). */
export function holdups(batch: Batch, facts: PreflightFacts, options: PreflightOptions): string[] {
  const inBatch = new Set(batch.nodes.map((node) => node.machineId))
  const why: string[] = []
  const unreadyWorkers: string[] = []
  for (const member of facts.members) {
    if (inBatch.has(member.machine.id) || options.leave.includes(nameOf(member))) continue
    // What recovery leaves to a person (stopped and to stay so, marks nobody can read) would hold up every batch for ever.
    if (recoveryOf(member, { differs: false, startStopped: options.startStopped }).kind === 'leave') continue
    const holdup = whyNotThere(member)
    if (holdup === null || (batch.recovery && isRecovering(member))) continue
    if (member.type === 'worker' && member.machine.power === 'running') unreadyWorkers.push(holdup)
    else why.push(holdup)
  }
  if (unreadyWorkers.length > options.tolerateUnready) why.push(...unreadyWorkers)
  for (const node of facts.outsiders) {
    if (node.controlPlane && node.ready !== 'ready')
      why.push(`control node ${node.name} is ${saysReadiness(node)}`)
  }
  why.push(...quorumHoldups(batch.nodes, facts))
  return why
}

/**
 * CKS-13 for the nodes about to be stopped: quorum without them, etcd ready, another API server with external etcd.
 * Starting a stopped member takes nothing away and needs no quorum (CKS-11).
 */
export function quorumHoldups(nodes: readonly BatchNode[], facts: PreflightFacts): string[] {
  const leaving = nodes.filter((node) => node.how === 'roll' && node.type !== 'worker')
  const [first] = leaving
  if (first === undefined) return []
  const why: string[] = []
  const names = leaving.map(batchNodeName)
  const external = facts.members.some((member) => member.type === 'etcd')
  if (first.type === 'etcd' || !external) {
    if (facts.etcd === null) why.push('etcd membership was not asked for')
    else {
      const verdict = mayLeave(expectedVoters(facts.members, facts.outsiders), facts.etcd, names)
      if (!verdict.ok) why.push(verdict.why)
      if (facts.etcd.kind === 'members' && !external) why.push(...withoutNode(facts.etcd.members, facts))
    }
  }
  if (facts.etcdReady === null) why.push('etcd readiness (/readyz/etcd) was not asked for')
  else if (facts.etcdReady.kind !== 'ok') {
    why.push(`etcd readiness (/readyz/etcd) is ${facts.etcdReady.kind}: ${facts.etcdReady.why}`)
  }
  if (first.type === 'control') why.push(...controlHoldups(names, facts), ...apiHoldups(names, facts))
  return why
}

/** Is any part of these facts one that could not be seen? Asked again in a moment, the answer may be another. */
export function isUnsure({ etcd, etcdReady, apiServers }: PreflightFacts): boolean {
  const members = etcd?.kind === 'members' ? etcd.members : []
  return (
    etcd?.kind === 'unknown' ||
    members.some(({ health, behind }) => health === 'unknown' || behind === null) ||
    etcdReady?.kind === 'unknown' ||
    Object.values(apiServers).some(({ kind }) => kind === 'unknown')
  )
}

/**
 * Another control node that somebody has cordoned, or that another tool is about to take down, may be gone in a minute:
 * two of three would be. One with marks of ours is recovery's.
 */
function controlHoldups(leaving: readonly string[], facts: PreflightFacts): string[] {
  const nodes = [
    ...facts.members.filter((member) => member.type === 'control').map((member) => member.node),
    ...facts.outsiders.filter((node) => node.controlPlane),
  ]
  return nodes.flatMap((node) => {
    if (node === null || leaving.includes(node.name) || isMarked(node.marks)) return []
    if (node.busyWith !== null)
      return [`control node ${node.name} is being taken down by ${node.busyWith}; wait for its end`]
    return node.unschedulable
      ? [`control node ${node.name} is cordoned; uncordon it when whoever cordoned it is done`]
      : []
  })
}

function apiHoldups(leaving: readonly string[], facts: PreflightFacts): string[] {
  const others = Object.entries(facts.apiServers).filter(([name]) => !leaving.includes(name))
  if (others.some(([, health]) => health.kind === 'ok')) return []
  const said = others.map(([name, health]) => `${name}: ${health.kind === 'ok' ? 'ok' : health.why}`)
  return [`no other control node serves the API${said.length === 0 ? '' : ` (${said.join('; ')})`}`]
}

function whyNotThere(member: Member): string | null {
  const { machine, node } = member
  if (machine.power !== 'running') return `machine of ${nameOf(member)} is ${machine.power}`
  if (machine.operation !== null) return `machine of ${nameOf(member)}: ${machine.operation} in progress`
  if (node === null) return member.type === 'etcd' ? null : `machine ${machine.name} has no Node`
  return node.ready === 'ready' ? null : `node ${node.name} is ${saysReadiness(node)}`
}

function isRecovering(member: Member): boolean {
  return member.machine.power !== 'running' || (member.node !== null && isMarked(member.node.marks))
}

function saysReadiness(node: NodeRecord): string {
  return node.ready === 'notReady' ? 'not ready' : 'of unknown readiness'
}

function withoutNode(members: readonly EtcdMember[], facts: PreflightFacts): string[] {
  const known = new Set(expectedVoters(facts.members, facts.outsiders))
  return members
    .filter((m) => !m.learner && !known.has(m.name))
    .map((m) => `etcd member ${m.name} has no control-plane Node`)
}
