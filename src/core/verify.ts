import type { BatchNode } from './batch.js'
import type { EtcdView, Health, Machine, NodeRecord, PoolSettings } from './model.js'
import { differences, sayDifference } from './out-of-date.js'
import { whyDown } from './quorum.js'

export interface VerifyFacts {
  readonly machine: Machine | null
  readonly node: NodeRecord | null
  readonly etcd: EtcdView | null
  readonly apiServer: Health | null
}

export interface Expected {
  /** Boot id before the act; null when the machine was off and had none: then any is new. */
  readonly bootId: string | null
  readonly settings: PoolSettings
  readonly needsNode: boolean
  readonly needsMember: boolean
  readonly needsApiServer: boolean
  readonly name: string
}

/**
 * Why the node does not count as back yet (CKS-18); empty when it does. Times written by the node are never used: a
 * Ready left over from before the stop, or a clock ten minutes ahead, proves nothing. Only a new boot id does (B10).
 */
export function whyNotBack(expected: Expected, facts: VerifyFacts): string[] {
  const why: string[] = []
  const { machine, node } = facts
  if (machine === null) why.push('its machine is not at the provider')
  else {
    if (machine.power !== 'running') why.push(`its machine is ${machine.power}`)
    why.push(
      ...differences(machine, expected.settings).map(
        (one) => `its machine still differs: ${sayDifference(one)}`,
      ),
    )
  }
  if (expected.needsNode) why.push(...whyNodeNotBack(expected, node))
  if (expected.needsMember) {
    if (facts.etcd === null || facts.etcd.kind === 'unknown') {
      why.push(`etcd cannot be asked${facts.etcd === null ? '' : `: ${facts.etcd.why}`}`)
    } else {
      // The one it had before it was made anew may still be listed, and never comes back.
      const own = facts.etcd.members.filter((member) => member.name === expected.name)
      const down = own.length === 0 ? [whyDown(undefined)] : own.map(whyDown)
      if (!down.includes(null)) why.push(`its etcd member ${down.join(', ')}`)
    }
  }
  if (expected.needsApiServer && facts.apiServer?.kind !== 'ok') {
    why.push(`its API server is not ready${facts.apiServer === null ? '' : `: ${facts.apiServer.why}`}`)
  }
  return why
}

function whyNodeNotBack(expected: Expected, node: NodeRecord | null): string[] {
  if (node === null) return ['its Node has not joined yet']
  const why: string[] = []
  if (node.bootId === null) why.push('its boot id is unknown')
  else if (node.bootId === expected.bootId) why.push('its boot id is the one from before the stop')
  if (node.ready !== 'ready')
    why.push(node.ready === 'notReady' ? 'it is not ready' : 'its readiness is unknown')
  return why
}

/** Does a Node that appeared under this name run on another machine (B11 b)? */
export function isAnotherMachine(node: NodeRecord, expected: Pick<BatchNode, 'providerId'>): boolean {
  return (
    node.providerId !== null &&
    expected.providerId !== null &&
    node.providerId.toLowerCase() !== expected.providerId.toLowerCase()
  )
}
