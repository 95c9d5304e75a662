import { type PodRecord, podName } from '../pods.js'

/** How far one pod of a drain has come. */
export type Standing =
  /** Not asked yet. */
  | { readonly kind: 'due' }
  /** Its eviction was accepted. */
  | { readonly kind: 'asked' }
  /** Its turn comes when the pods before it are gone. */
  | { readonly kind: 'queued' }
  /** It goes, or runs to its end, by itself: the verdict's words. */
  | { readonly kind: 'waits'; readonly why: string }
  /** A budget allows no eviction: `why` is its arithmetic. */
  | { readonly kind: 'held'; readonly budget: string; readonly why: string }
  /** More than one budget selects it: only a person can mend that. */
  | { readonly kind: 'overruled'; readonly why: string }
  /** Nothing is wrong, or nobody can tell: asked again later. */
  | { readonly kind: 'later'; readonly why: string }
  /** No refusal by policy, and nothing that asking again would mend. */
  | { readonly kind: 'failed'; readonly why: string }

export interface PodStanding {
  readonly pod: PodRecord
  readonly standing: Standing
}

/** Names in one sentence; whoever wants all of them asks the cluster. */
const MOST_NAMES = 10

/**
 * What a drain waits for, one sentence for each cause, the ones a person has to mend first. Pods under the same budget are
 * told together, with the budget's arithmetic.
 */
export function sayWaits(left: readonly PodStanding[]): string[] {
  return [
    ...sayEach(
      left,
      'failed',
      ({ why }) => why,
      (why) => why,
    ),
    ...sayEach(
      left,
      'overruled',
      ({ why }) => why,
      (why, pods) => `${why}; they hold ${countOf(pods)}: ${namesOf(pods)}`,
    ),
    ...sayEach(
      left,
      'held',
      ({ budget }) => budget,
      (_, pods, { why }) => `${why}; holds ${countOf(pods)}: ${namesOf(pods)}`,
    ),
    ...sayEach(
      left,
      'later',
      ({ why }) => why,
      (why, pods) => sayAll(pods, `waits: ${why}`),
    ),
    ...sayEach(
      left,
      'waits',
      ({ why }) => why,
      (why, pods) => sayAll(pods, why),
    ),
    ...sayEach(
      left,
      'asked',
      () => '',
      (_, pods) => sayAll(pods, 'was asked to go'),
    ),
    ...sayEach(
      left,
      'due',
      () => '',
      (_, pods) => sayAll(pods, 'is to be asked to go'),
    ),
    ...sayEach(
      left,
      'queued',
      () => '',
      (_, pods) => sayAll(pods, 'waits for the pods before it'),
    ),
  ]
}

type Of<K extends Standing['kind']> = Extract<Standing, { kind: K }>

/** One sentence for each key among the pods that stand like this. */
function sayEach<K extends Standing['kind']>(
  left: readonly PodStanding[],
  kind: K,
  keyOf: (standing: Of<K>) => string,
  say: (key: string, pods: readonly PodRecord[], latest: Of<K>) => string,
): string[] {
  const groups = new Map<string, { pods: PodRecord[]; latest: Of<K> }>()
  for (const { pod, standing } of left) {
    if (standing.kind !== kind) continue
    const latest = standing as Of<K>
    const key = keyOf(latest)
    const pods = groups.get(key)?.pods ?? []
    pods.push(pod)
    groups.set(key, { pods, latest })
  }
  return [...groups].map(([key, { pods, latest }]) => say(key, pods, latest))
}

/** `pod shop/a is terminating`, `2 pods are terminating: shop/a, shop/b`. */
function sayAll(pods: readonly PodRecord[], why: string): string {
  if (pods.length === 1) return `pod ${namesOf(pods)} ${why}`
  return `${countOf(pods)} ${inPlural(why)}: ${namesOf(pods)}`
}

const PLURALS: Readonly<Record<string, string>> = { is: 'are', was: 'were', waits: 'wait', 'waits:': 'wait:' }

function inPlural(why: string): string {
  const [first = '', ...rest] = why.split(' ')
  return [PLURALS[first] ?? first, ...rest].join(' ')
}

function countOf(pods: readonly PodRecord[]): string {
  return pods.length === 1 ? '1 pod' : `${pods.length} pods`
}

function namesOf(pods: readonly PodRecord[]): string {
  const names = pods.map(podName)
  const named = names.slice(0, MOST_NAMES).join(', ')
  return names.length > MOST_NAMES ? `${named} and ${names.length - MOST_NAMES} more` : named
}
