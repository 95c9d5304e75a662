import type { EtcdMember, EtcdView, Machine, MachineType, Member, NodeRecord } from './model.js'
import { nameOf } from './model.js'

/** ⌊N/2⌋ + 1. */
export function quorumOf(voters: number): number {
  return Math.floor(voters / 2) + 1
}

/**
 * CKS-13: may these members be taken down? Of all *expected* voters, those leaving included, a quorum must be healthy
 * and caught up without them. A missing, unreachable or learning member counts as down (B07: counting only the members
 * that answer lets one healthy member of three pass for a quorum).
 */
export function mayLeave(
  expected: readonly string[],
  view: EtcdView,
  leaving: readonly string[],
): { readonly ok: true } | { readonly ok: false; readonly why: string } {
  if (view.kind === 'unknown') return { ok: false, why: `etcd membership is unknown: ${view.why}` }
  const voters = allVoters(expected, view)
  const needed = quorumOf(voters.length)
  const down: string[] = []
  let staying = 0
  for (const { name, member } of voters) {
    if (leaving.includes(name)) continue
    const why = whyDown(member)
    if (why === null) staying++
    else down.push(`${name} ${why}`)
  }
  if (staying >= needed) return { ok: true }
  const reasons = [...down, ...namedTwice(voters)]
  const rest = reasons.length === 0 ? '' : ` (${reasons.join(', ')})`
  return {
    ok: false,
    why: `etcd would keep ${staying} healthy voters of ${voters.length}, needs ${needed}${rest}`,
  }
}

/** A voter by the name of its machine, and what etcd lists of it: undefined where it lists none. */
export interface Voter {
  readonly name: string
  readonly member: EtcdMember | undefined
}

/**
 * Those expected, by the cluster or by whoever was asked, and those that only etcd knows: every voter counts (CKS-00). A
 * member that was not removed when its machine was made anew has the name of the new one, and is one more voter.
 */
export function allVoters(
  expected: readonly string[],
  { members, expected: named = [] }: Extract<EtcdView, { kind: 'members' }>,
): Voter[] {
  const listed = members.filter((member) => !member.learner).map((member) => ({ name: member.name, member }))
  const others = new Set([...expected, ...named])
  for (const { name } of listed) others.delete(name)
  const missing = [...others].map((name) => ({ name, member: members.find((one) => one.name === name) }))
  return [...listed, ...missing].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
}

function namedTwice(voters: readonly Voter[]): string[] {
  const names = voters.map(({ name }) => name)
  const twice = new Set(names.filter((name, at) => names.indexOf(name) !== at))
  return [...twice].map((name) => `etcd lists ${name} more than once: remove the member that is gone`)
}

/** Why this voter counts as down, or null when it is started, healthy and caught up. */
export function whyDown(member: EtcdMember | undefined): string | null {
  if (member === undefined) return 'is missing from the member list'
  if (member.learner) return 'is a learner'
  if (member.alarms.length > 0) return `has raised the alarm ${member.alarms.join(', ')}`
  // A member that lags far behind is slow to finish a read, too, and then counts as unhealthy: the lag says more.
  if (!member.caughtUp && member.behind !== null)
    return `lags ${member.behind.toLocaleString('en-US')} entries behind`
  if (member.health !== 'healthy') return `is ${member.health === 'unknown' ? 'unreachable' : 'unhealthy'}`
  return member.caughtUp ? null : 'does not tell how far it is'
}

/** Names of the voters a healthy control plane should have: external etcd machines, else all control-plane nodes. */
export function expectedVoters(members: readonly Member[], outsiders: readonly NodeRecord[]): string[] {
  const external = members.filter((member) => member.type === 'etcd')
  if (external.length > 0) return external.map(nameOf)
  return [
    ...members.filter((member) => member.type === 'control').map(nameOf),
    ...outsiders.filter((node) => node.controlPlane).map((node) => node.name),
  ]
}

/**
 * CKS-14: why a type as a whole cannot lose a node, or null when it can. Workers always may: one node may always go.
 */
export function cannotLoseANode(
  type: MachineType,
  members: readonly Member[],
  outsiders: readonly NodeRecord[],
): string | null {
  if (type === 'worker') return null
  const external = members.some((member) => member.type === 'etcd')
  const own = members.filter((member) => member.type === type).length
  const count = type === 'control' ? own + outsiders.filter((node) => node.controlPlane).length : own
  const holdsEtcd = type === 'etcd' || !external
  const enough = holdsEtcd ? count - 1 >= quorumOf(count) : count >= 2
  if (enough) return null
  const what =
    type === 'etcd' ? 'etcd members' : holdsEtcd ? 'control nodes with stacked etcd' : 'control nodes'
  return count === 1 ? `the only one of its type (${what})` : `one of only ${count} ${what}`
}

/** Does the machine do anything, or is something being done to it, that has to end first? */
export function unsettled(machine: Machine): string | null {
  if (machine.operation !== null) return `${machine.name}: ${machine.operation} in progress`
  if (machine.power === 'starting' || machine.power === 'stopping')
    return `${machine.name} is ${machine.power}`
  return machine.power === 'unknown' ? `the power state of ${machine.name} is unknown` : null
}
