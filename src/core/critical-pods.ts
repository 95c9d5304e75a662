import { type PodRecord, podName } from './pods.js'

/** The two classes that Kubernetes keeps for pods a node or a cluster cannot do without. */
const CRITICAL_CLASSES: readonly (string | null)[] = ['system-node-critical', 'system-cluster-critical']

/**
 * Pods of the node that have to be Ready before it counts as back, and are not: the static pods of the control plane, and
 * all of a critical priority class. One that is finished or on its way out is nobody's loss.
 */
export function criticalPodsNotReady(pods: readonly PodRecord[]): string[] {
  return pods
    .filter((pod) => pod.mirror || CRITICAL_CLASSES.includes(pod.priorityClass))
    .filter((pod) => !pod.ready && !pod.terminating && pod.phase !== 'Succeeded' && pod.phase !== 'Failed')
    .map((pod) => `pod ${podName(pod)} is not ready`)
    .sort()
}
