import type { AttachmentRecord } from '../core/drain/volumes.js'
import type { Health, NodeChange, NodeRecord } from '../core/model.js'
import type { BudgetRecord, PodRecord } from '../core/pods.js'

/** What an eviction request came to. */
export type EvictionAnswer =
  | { readonly kind: 'accepted' }
  /** The pod is gone, or it is another one under the same name. */
  | { readonly kind: 'gone' }
  /** A disruption budget says no: its name, and `why` with its arithmetic as the server tells it. */
  | { readonly kind: 'blocked'; readonly budget: string; readonly why: string }
  /** More than one budget selects the pod; the eviction API refuses that for good. */
  | { readonly kind: 'manyBudgets'; readonly why: string }
  /** Nothing is wrong with this pod's eviction, but it is not the time: a budget not yet counted, an admission webhook. */
  | { readonly kind: 'later'; readonly afterSeconds: number; readonly why: string }
  /** Flow control: the server has too much to do. Meant for whoever asks, not for this pod. */
  | { readonly kind: 'slowDown'; readonly afterSeconds: number; readonly why: string }

/** What a request to delete a pod came to. */
export type DeletionAnswer = 'accepted' | 'gone'

/** A static pod of the control plane, as kubeadm makes and marks it. */
export interface ControlPlanePod {
  readonly name: string
  readonly node: string
  /** `etcd`, `kube-apiserver`, `kube-controller-manager`, `kube-scheduler`. */
  readonly component: string
  readonly annotations: Readonly<Record<string, string>>
  /** Of all its containers: the programs and their arguments. */
  readonly command: readonly string[]
}

/** A running watch. `close` ends it; `onChange` is called for every event and once when the watch has to be renewed. */
export interface Watching {
  close(): void
}

/** A collection kept current by a watch. `onChange` of whoever opened it is called after every change. */
export interface Kept<T> extends Watching {
  /** As it is now, as far as the watch has told; waits for the first list. Throws `PortError`. */
  current(signal: AbortSignal): Promise<readonly T[]>
}

/** `recentNodes` is never older. */
export const RECENT_SECONDS = 60

/**
 * One Kubernetes cluster. Every request has a deadline and is tried on each configured API server in turn.
 * Throws `PortError`; a 409 is `conflict`, a missing object `notFound`.
 */
export interface Cluster {
  /** UID of the namespace `kube-system` (CKS-00). */
  identity(signal: AbortSignal): Promise<string>
  /** All nodes, from the server itself, uncached. */
  nodes(signal: AbortSignal): Promise<NodeRecord[]>
  /**
   * All nodes as of at most `RECENT_SECONDS` ago, and never older than anything read or written through this port before.
   * Costs no request while the watch behind it lives. For looking around: never for quorum, nor right before an act.
   */
  recentNodes(signal: AbortSignal): Promise<NodeRecord[]>
  /** Calls when `recentNodes` may give something else than before. */
  watchRecentNodes(onChange: () => void): Watching
  node(name: string, signal: AbortSignal): Promise<NodeRecord | null>
  /** Patches and reads back what the server stored. `conflict` when the node has changed since `resourceVersion`. */
  patchNode(
    name: string,
    resourceVersion: string,
    change: NodeChange,
    signal: AbortSignal,
  ): Promise<NodeRecord>
  /** Calls `onNodes` with the names that changed; reconnects by itself, and calls with an empty list after a gap. */
  watchNodes(onNodes: (names: readonly string[]) => void, fieldName: string | null): Watching

  /** The pods bound to a node, uncached. */
  podsOn(nodeName: string, signal: AbortSignal): Promise<PodRecord[]>
  /** The same, kept current from one list on. */
  keepPodsOn(nodeName: string, onChange: () => void): Kept<PodRecord>
  /** Which of these owners (`DaemonSet` references of pods) exist. */
  daemonSetExists(namespace: string, name: string, signal: AbortSignal): Promise<boolean>
  /** Evicts exactly the pod with this UID. */
  evict(pod: PodRecord, graceSeconds: number | null, signal: AbortSignal): Promise<EvictionAnswer>
  /**
   * Deletes exactly the pod with this UID, with its own grace period, past every budget. `tryOnly` asks whether that would
   * be done and does nothing.
   */
  deletePod(pod: PodRecord, tryOnly: boolean, signal: AbortSignal): Promise<DeletionAnswer>
  /** The disruption budgets of a namespace; with null, of all of them. */
  budgets(namespace: string | null, signal: AbortSignal): Promise<BudgetRecord[]>

  /** The VolumeAttachments of all nodes, kept current. */
  keepVolumeAttachments(onChange: () => void): Kept<AttachmentRecord>
  /** Name of the volume that a claim is bound to; null when there is none. */
  volumeOfClaim(namespace: string, name: string, signal: AbortSignal): Promise<string | null>

  /** The static pods of the control plane in `kube-system`; none where it is not run by kubelets. */
  controlPlanePods(signal: AbortSignal): Promise<ControlPlanePod[]>
  /** `/readyz/etcd` of the API server that answers (CKS-13): a further condition, never a substitute. */
  etcdReady(signal: AbortSignal): Promise<Health>
  /** An Event on the Node object; best effort, never throws. */
  nodeEvent(
    node: Pick<NodeRecord, 'name' | 'uid'>,
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
  ): Promise<void>
}
