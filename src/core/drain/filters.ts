import type { PodRecord } from '../pods.js'
import type { DrainPolicy } from '../spec.js'
import { isSelected } from './selector.js'
import type { DrainFacts, PodVerdict } from './verdict.js'

type Filter = (pod: PodRecord, policy: DrainPolicy, facts: DrainFacts) => PodVerdict | null

/** In order; the first that answers decides. Each says which pods it knows about. */
const FILTERS: readonly Filter[] = [
  mirrorPod,
  skippedPod,
  runningDaemonSetPod,
  abandonedPod,
  terminatingPod,
  finishedPod,
  podToComplete,
  emptyDirPod,
  barePod,
]

/** The verdict for one pod of a node. */
export function podVerdict(pod: PodRecord, policy: DrainPolicy, facts: DrainFacts): PodVerdict {
  for (const filter of FILTERS) {
    const verdict = filter(pod, policy, facts)
    if (verdict !== null) return verdict
  }
  return { kind: 'evict', why: 'has a controller' }
}

/** Is this pod the kind that a DaemonSet recreates on a cordoned node? Only `apps/v1` owners are (kubectl's rule). */
export function daemonSetOf(pod: PodRecord): string | null {
  const { controller } = pod
  if (controller === null || controller.kind !== 'DaemonSet' || controller.apiVersion !== 'apps/v1')
    return null
  return `${pod.namespace}/${controller.name}`
}

function mirrorPod(pod: PodRecord): PodVerdict | null {
  return pod.mirror ? { kind: 'skip', why: 'static pod of the node' } : null
}

function skippedPod(pod: PodRecord, policy: DrainPolicy): PodVerdict | null {
  return isSelected(pod, policy.skip) ? { kind: 'skip', why: 'selected by drain.skip' } : null
}

function runningDaemonSetPod(pod: PodRecord, policy: DrainPolicy, facts: DrainFacts): PodVerdict | null {
  const daemonSet = daemonSetOf(pod)
  if (daemonSet === null || isFinished(pod)) return null
  if (facts.daemonSets.has(daemonSet)) return { kind: 'skip', why: `of DaemonSet ${daemonSet}` }
  return pod.terminating || policy.barePods === 'evict'
    ? null
    : { kind: 'refuse', why: `its DaemonSet ${daemonSet} does not exist` }
}

/**
 * The machine is stopped right after the drain, so that whatever still runs of such a pod ends with it: `skipWaitForDelete`
 * therefore begins when the pod's own grace has ended (kubectl's rule). A kubelet that has been
 * silent for long gives no grace; one that was silent for a moment does.
 */
function abandonedPod(pod: PodRecord, policy: DrainPolicy, facts: DrainFacts): PodVerdict | null {
  const { skipWaitForDeleteSeconds, unreachableWaitSeconds } = policy
  if (!pod.terminating) return null
  if (skipWaitForDeleteSeconds !== null && (pod.overdueSeconds ?? 0) > skipWaitForDeleteSeconds) {
    return { kind: 'skip', why: `terminating for longer than drain.skipWaitForDelete`, givenUp: true }
  }
  const bothSeconds = Math.min(facts.silentSeconds, pod.deletionAgeSeconds ?? 0)
  if (bothSeconds > unreachableWaitSeconds) {
    const why = `terminating for longer than drain.unreachableWait on a node that is silent as long`
    return { kind: 'skip', why, givenUp: true }
  }
  return null
}

function terminatingPod(pod: PodRecord): PodVerdict | null {
  if (!pod.terminating) return null
  const held = pod.finalizers.length === 0 ? '' : `, held by finalizer ${pod.finalizers.join(', ')}`
  return { kind: 'wait', why: `is terminating${held}` }
}

function finishedPod(pod: PodRecord): PodVerdict | null {
  return isFinished(pod) ? { kind: 'evict', why: `is ${pod.phase}` } : null
}

function podToComplete(pod: PodRecord, policy: DrainPolicy): PodVerdict | null {
  return isSelected(pod, policy.waitCompleted)
    ? { kind: 'wait', why: `is left to run to its end (drain.waitCompleted)` }
    : null
}

function emptyDirPod(pod: PodRecord, policy: DrainPolicy): PodVerdict | null {
  return pod.emptyDir && policy.emptyDir === 'refuse'
    ? { kind: 'refuse', why: 'keeps data in an emptyDir, and drain.emptyDir is refuse' }
    : null
}

function barePod(pod: PodRecord, policy: DrainPolicy): PodVerdict | null {
  if (pod.controller !== null) return null
  return policy.barePods === 'evict'
    ? { kind: 'evict', why: 'has no controller, and drain.barePods is evict' }
    : { kind: 'refuse', why: 'has no controller: nothing would bring it back' }
}

function isFinished(pod: PodRecord): boolean {
  return pod.phase === 'Succeeded' || pod.phase === 'Failed'
}
