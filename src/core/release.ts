import type { Skip } from './batch.js'
import { matchMachines } from './membership.js'
import { isMarked, type Machine, type NodeRecord } from './model.js'
import type { Capacity, ClusterRecord, ClusterState } from './record.js'
import { type ReleaseDecision, releaseDecision } from './recovery.js'

/** What release is to do with each marked node (CKS-21). */
export function releaseDecisions(
  nodes: readonly NodeRecord[],
  machines: readonly Machine[],
): { readonly node: NodeRecord; readonly decision: ReleaseDecision }[] {
  const machinesOf = matchMachines(nodes, machines)
  return nodes
    .filter((node) => isMarked(node.marks))
    .map((node) => ({ node, decision: releaseDecision(node, machinesOf.get(node.name)?.[0] ?? null) }))
}

/** The nodes that stay cordoned for someone to look at, with the reason. */
export function leftCordoned(decided: ReturnType<typeof releaseDecisions>): Skip[] {
  return decided.flatMap(({ node, decision }) =>
    decision.kind === 'leave' ? [{ name: node.name, pool: '', why: decision.why }] : [],
  )
}

export interface Ending {
  readonly lastError: string | null
  readonly clearLastError: boolean
}

/**
 * The record at the end of a rollout (CKS-21): state by health, capacity recounted (null: the count before is kept),
 * lastError set, cleared or kept.
 */
export function endRecord(
  record: ClusterRecord,
  unhealthy: readonly string[],
  capacity: Capacity | null,
  ending: Ending | null,
): ClusterRecord {
  const state: ClusterState = unhealthy.length === 0 ? 'Running' : 'Alert'
  const kept = ending?.clearLastError === true ? null : record.lastError
  return {
    ...record,
    ...{ state, rollout: null, before: null },
    capacity: capacity ?? record.capacity,
    lastError: ending?.lastError ?? kept,
  }
}
