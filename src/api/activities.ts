import type { Batch, BatchNode, PoolCounts, Position, Skip } from '../core/batch.js'
import type { Added, PoolSettings } from '../core/model.js'
import type { NextBatch } from '../core/next-batch.js'
import type { Capacity, ClusterState } from '../core/record.js'
import type { DrainPolicy, Limits, RolloutSpec, Target } from '../core/spec.js'

/** The chain of runs that holds the cluster: stable over continue-as-new and reset. */
export interface RolloutId {
  readonly workflowId: string
  readonly firstRunId: string
}

export interface InCluster {
  readonly target: Target
  readonly rollout: RolloutId
}

export interface WithSpec {
  readonly spec: RolloutSpec
  readonly rollout: RolloutId
}

/** What was found on a node before anything was written. */
export interface Baseline {
  readonly bootId: string | null
  readonly uid: string | null
  readonly ephemeralStorageKiB: number | null
  /** Somebody else had cordoned it: it stays cordoned at the end (CKS-15). */
  readonly cordonedByOthers: boolean
  /** Marks of an earlier rollout were there. */
  readonly foundMarked: boolean
  /** Only a new boot id proves it is back; false where it never went down. */
  readonly expectNewBoot: boolean
  /** As in the attempt mark, for a node whose mark somebody takes away. Histories of before have none. */
  readonly added?: Added
}

/** One node of a batch, as every step gets it. */
export interface NodeJob extends InCluster {
  readonly token: string
  readonly node: BatchNode
  readonly baseline: Baseline
}

export type Cordoned =
  | { readonly kind: 'cordoned'; readonly machineId: string; readonly baseline: Baseline }
  /** Nothing is left to do: a reset or another rollout came round again (CKS-24). */
  | { readonly kind: 'upToDate'; readonly machineId: string }
  /** Somebody has started a machine that was off: not touched, the next look at the fleet decides again. Not from a worker of before. */
  | { readonly kind: 'startedMeanwhile'; readonly machineId: string }

export interface Drained {
  readonly evicted: number
  /** Pods that were deleted past their budget. Absent from a worker of before. */
  readonly warnings?: readonly string[]
}

export type Stopped =
  | { readonly kind: 'stopped' }
  /** An earlier run did all of it (a reset, CKS-24): only the verify is left. */
  | { readonly kind: 'alreadyDone' }
  /** Pods came or the cordon went after the drain (B03): drain again. */
  | { readonly kind: 'notDrained'; readonly why: string }

export type Started = { readonly kind: 'running' } | { readonly kind: 'noCapacity'; readonly why: string }

export interface Verified {
  readonly warnings: readonly string[]
}

export type Undone = {
  readonly name: string
  readonly machineId: string
  /**
   * `restored`: as found (K1). `acted`: an act of this batch was begun, so K2 decides. `left`: not ours to write.
   * `quarantined`: is in quarantine and stays there.
   */
  readonly kind: 'restored' | 'acted' | 'left' | 'quarantined'
  readonly why: string
}

export type Quarantined =
  | { readonly kind: 'quarantined' }
  /** As many others as may be are in quarantine already. */
  | { readonly kind: 'full'; readonly others: readonly string[] }
  | { readonly kind: 'notOurs'; readonly why: string }

/** Counts of a pool with its stored settings (CKS-06); null when nothing is stored, or could be read. */
export interface PoolReport extends PoolCounts {
  readonly settings: PoolSettings | null
}

/** What release did and found (CKS-21). */
export interface Released {
  readonly state: ClusterState
  readonly capacity: Capacity | null
  readonly givenBack: readonly string[]
  readonly leftCordoned: readonly Skip[]
  /** Why the state is Alert. */
  readonly unhealthy: readonly string[]
  readonly pools: readonly PoolReport[]
  readonly lastError: string | null
}

export interface PoolStatus extends PoolReport {
  readonly outOfDateNodes: readonly string[]
}

/** Answer of `clusterStatus` (CKS-06). */
export interface ClusterStatus {
  readonly cluster: string
  readonly state: ClusterState | null
  readonly holder: string | null
  readonly holderSince: string | null
  readonly lastError: string | null
  readonly capacity: Capacity | null
  readonly pools: readonly PoolStatus[]
  readonly marked: readonly Skip[]
  readonly problems: readonly string[]
  /** Names past this page, if there are more. */
  readonly nextPage: number | null
}

/** Answer of `planRollout`. */
export interface PlanReport {
  readonly cluster: string
  readonly batches: readonly {
    readonly pool: string
    readonly recovery: boolean
    readonly nodes: readonly string[]
  }[]
  readonly batchCount: number
  readonly nodeCount: number
  /** Machines that will be started although somebody stopped them (CKS-11). */
  readonly startsStopped: readonly string[]
  readonly skipped: readonly Skip[]
  readonly notes: readonly string[]
  /** What would hold up the rollout half-way, and what to do about it beforehand. */
  readonly warnings: readonly string[]
  readonly refusals: readonly string[]
  readonly pools: readonly PoolCounts[]
}

export interface ReleaseInput extends InCluster {
  /** Null for a rollout that only ran `releaseCluster`. */
  readonly outcome: {
    /** Sets or clears lastError; null leaves it. */
    readonly lastError: string | null
    readonly clearLastError: boolean
  } | null
}

/**
 * Every step a worker can do, one per file in `src/activities`. Their names are read by operators in Temporal's timeline.
 * Each throws `ApplicationFailure` of a type in `failures.ts`; anything retryable is retried within the caller's budget.
 */
export interface RolloutActivities {
  checkSpec(input: {
    readonly spec: unknown
  }): Promise<{ readonly spec: RolloutSpec; readonly searchAttributes: boolean }>
  checkTarget(input: { readonly request: unknown }): Promise<{
    readonly target: Target
    readonly takeOver: string | null
    readonly page: number
  }>
  takeLease(input: InCluster & { readonly takeOver: string | null }): Promise<{ readonly tookOver: boolean }>
  beginRollout(input: WithSpec): Promise<void>
  checkSettings(input: WithSpec): Promise<void>
  storeSettings(input: WithSpec): Promise<void>
  /** Puts the record back as this rollout found it, when asked to, and frees the Lease. */
  letGo(input: InCluster & { readonly putBack: boolean }): Promise<void>
  nextBatch(input: WithSpec & { readonly position: Position }): Promise<NextBatch>
  preflightBatch(input: WithSpec & { readonly batch: Batch; readonly position: Position }): Promise<void>
  cordonNodes(
    input: InCluster & { readonly batch: Batch; readonly token: string },
  ): Promise<readonly Cordoned[]>
  drainNode(
    input: NodeJob & { readonly policy: DrainPolicy; readonly limitSeconds: number },
  ): Promise<Drained>
  stopMachine(
    input: NodeJob & { readonly spec: RolloutSpec; readonly notAfterSeconds: number },
  ): Promise<Stopped>
  resizeMachine(input: NodeJob & { readonly offering: string | null }): Promise<void>
  startMachine(input: NodeJob): Promise<Started>
  restoreMachine(input: NodeJob): Promise<Started & { readonly wasDown: boolean }>
  verifyNode(input: NodeJob & { readonly limits: Limits; readonly settings: PoolSettings }): Promise<Verified>
  undoNodes(
    input: InCluster & { readonly token: string; readonly jobs: readonly NodeJob[] },
  ): Promise<readonly Undone[]>
  /** Leaves a node whose drain cannot end cordoned and marked, while fewer than `limit` others are. */
  quarantineNode(input: NodeJob & { readonly reason: string; readonly limit: number }): Promise<Quarantined>
  failNode(
    input: NodeJob & { readonly step: string; readonly reason: string },
  ): Promise<{ readonly machine: string }>
  release(input: ReleaseInput): Promise<Released>
  /** Would `release` write anything? Null: nothing to do; else what. Reads only. */
  lookForRelease(input: InCluster): Promise<{ readonly needed: boolean; readonly report: Released }>
  readPlan(input: { readonly spec: RolloutSpec }): Promise<PlanReport>
  readStatus(input: { readonly target: Target; readonly page: number }): Promise<ClusterStatus>
}
