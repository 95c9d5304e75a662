import { type PodRecord, podName } from '../pods.js'
import type { DrainPolicy } from '../spec.js'
import { podVerdict } from './filters.js'
import type { DrainFacts } from './verdict.js'

export interface PodLeft {
  readonly pod: PodRecord
  readonly why: string
}

/** The pods of a node by what becomes of them. */
export interface PodsLeft {
  readonly evict: readonly PodLeft[]
  readonly wait: readonly PodLeft[]
  /** Left on the node, and not waited for. */
  readonly stay: readonly PodLeft[]
  /** Those of `stay` that were to go and have not. */
  readonly givenUp: readonly PodLeft[]
  /** Why the drain is refused, one sentence a pod. */
  readonly refused: readonly string[]
}

export function sortPods(pods: readonly PodRecord[], policy: DrainPolicy, facts: DrainFacts): PodsLeft {
  const evict: PodLeft[] = []
  const wait: PodLeft[] = []
  const stay: PodLeft[] = []
  const givenUp: PodLeft[] = []
  const refused: string[] = []
  for (const pod of pods) {
    const verdict = podVerdict(pod, policy, facts)
    const { kind, why } = verdict
    if (kind === 'skip' && verdict.givenUp) givenUp.push({ pod, why })
    if (kind === 'evict') evict.push({ pod, why })
    else if (kind === 'wait') wait.push({ pod, why })
    else if (kind === 'skip') stay.push({ pod, why })
    else refused.push(`pod ${podName(pod)} ${why}`)
  }
  return { evict, wait, stay, givenUp, refused }
}
