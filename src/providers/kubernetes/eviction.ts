import type { PodRecord } from '../../core/pods.js'
import type { EvictionAnswer } from '../../ports/cluster.js'
import type { Answer, Call } from './call.js'
import { answerError, oneLine, type Status, statusOf } from './errors.js'

/** When the server says "later" and not when. */
const LATER_SECONDS = 1
/** Until the disruption controller has counted again. */
const RECOUNT_SECONDS = 10

/** Evicts the pod with this UID and no other one under its name. */
export function evictionCall(pod: PodRecord, graceSeconds: number | null): Call {
  return {
    doing: `evict pod ${pod.namespace}/${pod.name}`,
    method: 'POST',
    path: `/api/v1/namespaces/${encodeURIComponent(pod.namespace)}/pods/${encodeURIComponent(pod.name)}/eviction`,
    body: {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: pod.name, namespace: pod.namespace },
      deleteOptions: {
        preconditions: { uid: pod.uid },
        ...(graceSeconds === null ? {} : { gracePeriodSeconds: graceSeconds }),
      },
    },
  }
}

/** What the API server meant. Throws `PortError` for what is no answer to an eviction. */
export function evictionAnswer(answer: Answer, pod: PodRecord): EvictionAnswer {
  const status = statusOf(answer)
  if ([200, 201, 202].includes(answer.code)) return { kind: 'accepted' }
  if (status !== null) {
    if (answer.code === 404) return { kind: 'gone' }
    if (answer.code === 409) return answerToConflict(answer, status)
    if (answer.code === 429) return answerToTooMany(answer, status, pod)
    if (answer.code === 403 && isPassing(status)) return later(answer, status, RECOUNT_SECONDS)
    if (answer.code === 500 && /more than one PodDisruptionBudget/.test(status.message ?? '')) {
      return { kind: 'misconfigured', why: `${podName(pod)}: ${oneLine(status.message ?? '')}` }
    }
  }
  if (answer.code === 429) return later(answer, status, LATER_SECONDS)
  throw answerError(answer, `evict pod ${podName(pod)}`)
}

/** Another UID under the name, or two writes to the budget at once. */
function answerToConflict(answer: Answer, status: Status): EvictionAnswer {
  // Worded differently from version to version. Told apart, since asking again would spend the budget each time.
  if (/precondition.*\buid\b|\buid\b.*precondition/i.test(status.message ?? '')) return { kind: 'gone' }
  return later(answer, status, LATER_SECONDS)
}

function answerToTooMany(answer: Answer, status: Status, pod: PodRecord): EvictionAnswer {
  const budget = status.details?.causes?.find(({ reason }) => reason === 'DisruptionBudget')
  if (budget === undefined) return later(answer, status, LATER_SECONDS)
  const said = oneLine(budget.message ?? status.message ?? 'a disruption budget allows no eviction')
  // A refusal for lack of pods carries no time: nobody knows when they come.
  if (secondsAsked(answer, status) > 0 || said.includes('still being processed')) {
    return { ...later(answer, status, RECOUNT_SECONDS), why: said }
  }
  return { kind: 'blocked', why: withNamespace(said, pod.namespace) }
}

/** Forbidden now and not for good: the namespace goes with all its pods, or the budget's controller is behind. */
function isPassing(status: Status): boolean {
  return (
    status.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating') === true ||
    /because it is being terminated/.test(status.message ?? '') ||
    status.details?.kind?.toLowerCase().startsWith('poddisruptionbudget') === true
  )
}

function later(answer: Answer, status: Status | null, seconds: number) {
  const afterSeconds = secondsAsked(answer, status) || seconds
  const why = oneLine(status?.message ?? 'the API server asks to come back later')
  return { kind: 'later', afterSeconds, why } as const
}

function secondsAsked(answer: Answer, status: Status | null): number {
  return answer.retryAfterSeconds ?? status?.details?.retryAfterSeconds ?? 0
}

/** The server's sentence in an operator's words, or as it is when it is worded otherwise. */
function withNamespace(said: string, namespace: string): string {
  const counted = /^The disruption budget (\S+) needs (\d+) healthy pods and has (\d+) currently$/.exec(said)
  if (counted === null) return `${namespace}: ${said}`
  return `budget ${namespace}/${counted[1]} needs ${counted[2]} healthy, has ${counted[3]}`
}

function podName(pod: PodRecord): string {
  return `${pod.namespace}/${pod.name}`
}
