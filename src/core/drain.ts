import type { PodRecord } from './pods.js'
import type { DrainPolicy } from './spec.js'

/** What a drain does with one pod, always with its reason. */
export type PodVerdict =
  | { readonly kind: 'evict'; readonly why: string }
  /** Left alone, and not waited for. */
  | { readonly kind: 'skip'; readonly why: string }
  /** On its way out: waited for, never evicted again (B02). */
  | { readonly kind: 'wait'; readonly why: string }
  /** The policy forbids it: the drain is refused before the first eviction. */
  | { readonly kind: 'refuse'; readonly why: string }

export interface DrainFacts {
  /** `namespace/name` of the DaemonSets that pods name as owner and that exist. */
  readonly daemonSets: ReadonlySet<string>
}

type Filter = (pod: PodRecord, policy: DrainPolicy, facts: DrainFacts) => PodVerdict | null

/** In order; the first that answers decides. Each says which pods it knows about. */
const FILTERS: readonly Filter[] = [
  mirrorPod,
  runningDaemonSetPod,
  terminatingPod,
  finishedPod,
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

export function podName(pod: Pick<PodRecord, 'namespace' | 'name'>): string {
  return `${pod.namespace}/${pod.name}`
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

function runningDaemonSetPod(pod: PodRecord, policy: DrainPolicy, facts: DrainFacts): PodVerdict | null {
  const daemonSet = daemonSetOf(pod)
  if (daemonSet === null || isFinished(pod)) return null
  if (facts.daemonSets.has(daemonSet)) return { kind: 'skip', why: `of DaemonSet ${daemonSet}` }
  return pod.terminating || policy.barePods === 'evict'
    ? null
    : { kind: 'refuse', why: `its DaemonSet ${daemonSet} does not exist` }
}

function terminatingPod(pod: PodRecord): PodVerdict | null {
  if (!pod.terminating) return null
  const held = pod.finalizers.length === 0 ? '' : `, held by finalizer ${pod.finalizers.join(', ')}`
  return { kind: 'wait', why: `is terminating${held}` }
}

function finishedPod(pod: PodRecord): PodVerdict | null {
  return isFinished(pod) ? { kind: 'evict', why: `is ${pod.phase}` } : null
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
