import type { Forced } from './drain/force.js'
import type { MachineType, PoolSettings, Selector } from './model.js'

/** `Running` healthy, `Updating` a rollout holds the cluster, `Alert` someone has to look (CKS-07, CKS-21). */
export type ClusterState = 'Running' | 'Updating' | 'Alert'

export interface StoredPool {
  readonly type: MachineType
  readonly select: Selector
  readonly settings: PoolSettings
}

export interface Capacity {
  readonly machines: number
  readonly cpu: number
  readonly memoryMiB: number
}

/** What a rollout found before it wrote anything, to be put back when it is refused (CKS-07). */
export interface Before {
  readonly rollout: string
  readonly state: ClusterState | null
  readonly pools: Readonly<Record<string, StoredPool>>
  readonly poolOrder: readonly string[]
  readonly lastError: string | null
}

/** The ConfigMap `noderoll`, parsed. */
export interface ClusterRecord {
  /** Name of the cluster in the spec; null while nothing is stored. */
  readonly cluster: string | null
  /** UID of `kube-system` (CKS-00). */
  readonly identity: string | null
  readonly state: ClusterState | null
  /** Holder of the rollout that set `Updating`. */
  readonly rollout: string | null
  readonly pools: Readonly<Record<string, StoredPool>>
  readonly poolOrder: readonly string[]
  readonly capacity: Capacity | null
  readonly lastError: string | null
  readonly before: Before | null
  /** The last pod that was deleted past its budget (`drain.onBlocked: force`), by whichever rollout. */
  readonly lastForced: Forced | null
}

export const EMPTY_RECORD: ClusterRecord = {
  cluster: null,
  identity: null,
  state: null,
  rollout: null,
  pools: {},
  poolOrder: [],
  capacity: null,
  lastError: null,
  before: null,
  lastForced: null,
}

/** Was `Updating` set by somebody else than the one who has the Lease now? Then that one is gone. */
export function isLeftBehind(record: ClusterRecord, holder: string | null): boolean {
  return record.state === 'Updating' && record.rollout !== holder
}

/** Has another rollout begun on this record? Then whoever wrote it before has nothing to write to it any more. */
export function isAnothers(record: ClusterRecord, holder: string): boolean {
  return record.rollout !== null && record.rollout !== holder
}

/** CKS-07: `Updating` left behind means `Alert`, capacity recounted where it can be. */
export function withoutHolder(record: ClusterRecord, capacity: Capacity | null): ClusterRecord {
  return { ...record, state: 'Alert', rollout: null, before: null, capacity: capacity ?? record.capacity }
}
