import type { Skip } from '../core/batch.js'
import type { Capacity, ClusterState } from '../core/record.js'
import type { PoolReport } from './activities.js'

/** What a rollout answers, and what the details of its failure hold. At most 100 names a list. */
export interface RolloutResult {
  readonly cluster: string
  /** `stored`: rollout was false. `done` may have skipped nodes; `cancelled` by signal. */
  readonly outcome: 'done' | 'stored' | 'cancelled' | 'failed'
  readonly state: ClusterState | null
  readonly done: { readonly count: number; readonly names: readonly string[] }
  readonly skipped: readonly Skip[]
  readonly failed: readonly FailedNode[]
  /** Nodes that stay cordoned for someone to look at. */
  readonly leftCordoned: readonly Skip[]
  /** Per pool: what is stored, what is there and what is still out of date (CKS-06). */
  readonly pools: readonly PoolReport[]
  readonly warnings: readonly string[]
  readonly capacity: Capacity | null
  readonly lastError: string | null
}

export interface FailedNode {
  readonly node: string
  readonly step: string
  readonly type: string
  readonly reason: string
  /** What became of it, in words. */
  readonly outcome: string
}
