import type { Health, NodeChange, NodeRecord } from '../core/model.js'
import type { BudgetRecord, PodRecord } from '../core/pods.js'

/** What an eviction request came to. */
export type EvictionAnswer =
  | { readonly kind: 'accepted' }
  /** The pod is gone, or it is another one under the same name. */
  | { readonly kind: 'gone' }
  /** A disruption budget says no: `why` has its arithmetic as the server tells it. */
  | { readonly kind: 'blocked'; readonly why: string }
  /** Flow control or a budget not yet processed: nothing is wrong, ask later. */
  | { readonly kind: 'later'; readonly afterSeconds: number; readonly why: string }
  /** A fault only a person can mend, such as two budgets on one pod. */
  | { readonly kind: 'misconfigured'; readonly why: string }

/** A running watch. `close` ends it; `onChange` is called for every event and once when the watch has to be renewed. */
export interface Watching {
  close(): void
}

/**
 * One Kubernetes cluster. Every request has a deadline and is tried on each configured API server in turn.
 * Throws `PortError`; a 409 is `conflict`, a missing object `notFound`.
 */
export interface Cluster {
  /** UID of the namespace `kube-system` (CKS-00). */
  identity(signal: AbortSignal): Promise<string>
  /** All nodes, from the server itself, uncached. */
  nodes(signal: AbortSignal): Promise<NodeRecord[]>
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
  watchPodsOn(nodeName: string, onChange: () => void): Watching
  /** Which of these owners (`DaemonSet` references of pods) exist. */
  daemonSetExists(namespace: string, name: string, signal: AbortSignal): Promise<boolean>
  /** Evicts exactly the pod with this UID. */
  evict(pod: PodRecord, graceSeconds: number | null, signal: AbortSignal): Promise<EvictionAnswer>
  /** The disruption budgets of a namespace; with null, of all of them. */
  budgets(namespace: string | null, signal: AbortSignal): Promise<BudgetRecord[]>

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
