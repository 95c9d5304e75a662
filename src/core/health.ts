import { type EtcdView, isMarked, type Machine, type Member, type NodeRecord, nameOf } from './model.js'
import { allVoters, expectedVoters, quorumOf, whyDown } from './quorum.js'
import type { Capacity } from './record.js'

/**
 * Why the cluster is not healthy, one sentence each (CKS-21): every pool machine running, every pool node Ready, etcd
 * quorum, none of our marks left. Cordons of others do not count.
 */
export function whyUnhealthy(
  members: readonly Member[],
  outsiders: readonly NodeRecord[],
  etcd: EtcdView | null,
): string[] {
  const why: string[] = []
  for (const member of members) {
    const { machine, node } = member
    if (machine.power !== 'running') why.push(`machine of ${nameOf(member)} is ${machine.power}`)
    else if (node === null && member.type !== 'etcd') why.push(`machine ${machine.name} has no Node`)
    else if (node !== null && node.ready !== 'ready') why.push(`node ${node.name} is not ready`)
    if (node !== null && isMarked(node.marks)) why.push(`node ${node.name} carries marks of noderoll`)
  }
  for (const node of outsiders) {
    if (isMarked(node.marks)) why.push(`node ${node.name} carries marks of noderoll`)
  }
  const lost = etcd === null ? null : whyNoQuorum(members, outsiders, etcd)
  if (lost !== null) why.push(lost)
  return why
}

function whyNoQuorum(
  members: readonly Member[],
  outsiders: readonly NodeRecord[],
  etcd: EtcdView,
): string | null {
  if (etcd.kind === 'unknown') return `etcd quorum is unknown: ${etcd.why}`
  const voters = allVoters(expectedVoters(members, outsiders), etcd)
  const up = voters.filter(({ member }) => whyDown(member) === null)
  const needed = quorumOf(voters.length)
  return up.length >= needed
    ? null
    : `etcd has ${up.length} healthy voters of ${voters.length}, needs ${needed}`
}

/**
 * CKS-21: the cluster's CPU and memory from its machines' real offerings. Null when one of them is unknown, which must not
 * count as nothing: whoever schedules by this would believe that the cluster shrank.
 */
export function capacityOf(machines: readonly Machine[]): Capacity | null {
  let [cpu, memoryMiB] = [0, 0]
  for (const machine of machines) {
    if (machine.cpu === null || machine.memoryMiB === null) return null
    cpu += machine.cpu
    memoryMiB += machine.memoryMiB
  }
  return { machines: machines.length, cpu, memoryMiB }
}
