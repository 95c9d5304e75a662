import type { PoolSpec } from './model.js'
import type { LabelSelector } from './pods.js'

/** How a worker reaches the cluster and its clouds: references only, never a secret. Part of every activity's input. */
export interface Target {
  readonly cluster: string
  readonly kubernetes: KubernetesAccess
  readonly machines: MachinesAccess
  /** Absent: no control plane of our own to look after (managed); control and etcd pools are refused then. */
  readonly etcd: EtcdAccess | null
}

export type KubernetesAccess = {
  /** Other API servers of the same cluster, tried in turn when one cannot be reached. */
  readonly endpoints: readonly string[]
  /** Where the Lease and the ConfigMap live. */
  readonly namespace: string
} & (
  | { readonly kind: 'inCluster' }
  | { readonly kind: 'kubeconfig'; readonly path: string | null; readonly context: string | null }
)

/** Named provider with its own plain options; checked by the provider's schema in the first activity. */
export interface MachinesAccess {
  readonly provider: string
  readonly options: Readonly<Record<string, string | number | boolean | readonly string[]>>
}

export interface EtcdAccess {
  readonly provider: string
  readonly options: Readonly<Record<string, string | number | boolean | readonly string[]>>
}

export interface DrainPolicy {
  readonly timeoutSeconds: number
  /** Null: each pod's own. */
  readonly gracePeriodSeconds: number | null
  readonly barePods: 'refuse' | 'evict'
  readonly emptyDir: 'refuse' | 'delete'
  readonly parallelEvictions: number
  readonly order: EvictionOrder
  readonly skip: readonly PodSelector[]
  /** Not evicted; waited for until they are finished. */
  readonly waitCompleted: readonly PodSelector[]
  /** Terminating for longer than its own grace and this: no longer waited for. Null: always waited for. */
  readonly skipWaitForDeleteSeconds: number | null
  /** Since it was asked to go, on a node whose kubelet is silent. */
  readonly unreachableWaitSeconds: number
  readonly volumes: 'detach' | 'ignore'
  /** Between leaving the external load balancers and the first eviction. */
  readonly loadBalancerSettleSeconds: number
  /** What happens when a drain cannot end. */
  readonly onBlocked: 'stop' | 'quarantine' | 'force'
  /** Nodes in quarantine at once. */
  readonly quarantineLimit: number
  readonly force: {
    readonly drainOlderThanSeconds: number
    readonly lastForcedOlderThanSeconds: number
    readonly podOlderThanSeconds: number
  }
}

/** Which pods go first; each group is gone before the next is asked to go. */
export type EvictionOrder =
  | { readonly by: 'together' | 'criticalLast' | 'priority' }
  /** The first selector that matches a pod decides; `rest` is where all others go, the end where it is missing. */
  | { readonly by: 'selectors'; readonly groups: readonly (PodSelector | 'rest')[] }

export interface PodSelector extends LabelSelector {
  /** Null: pods of every namespace. */
  readonly namespace: string | null
}

export interface Limits {
  readonly batchSeconds: number
  /** No machine is stopped with less than this left of the batch (CKS-19). */
  readonly changeReserveSeconds: number
  readonly preflightSeconds: number
  /** Budget of each machine step: stop, change, start (CKS-19: not cut by the batch's limit). */
  readonly machineSeconds: number
  readonly verifySeconds: number
  /** Distance between the two good observations that end a verify. 0: one is enough. */
  readonly settleSeconds: number
  /** Do the static and critical pods of a node have to be Ready before it counts as back? */
  readonly waitsForCriticalPods: boolean
  readonly releaseSeconds: number
}

/** A checked request with every default filled in. */
export interface RolloutSpec {
  readonly target: Target
  readonly pools: readonly PoolSpec[]
  readonly rollout: boolean
  readonly startStopped: boolean
  /** May the rollout take down the only worker's node, or Temporal's own cluster? */
  readonly selfHosted: boolean
  /** Workers that may be not ready elsewhere without holding up a batch (CKS-12). */
  readonly tolerateUnready: number
  readonly drain: DrainPolicy
  readonly limits: Limits
}
