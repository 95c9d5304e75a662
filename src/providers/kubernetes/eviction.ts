import { type PodRecord, podName } from '../../core/pods.js'
import type { DeletionAnswer, EvictionAnswer } from '../../ports/cluster.js'
import type { Answer, Call } from './call.js'
import { answerError, oneLine, type Status, statusOf } from './errors.js'

/** When the server says "later" and not when. */
const LATER_SECONDS = 1
/** Until the disruption controller has counted again. */
const RECOUNT_SECONDS = 10

/** Evicts the pod with this UID and no other one under its name. */
export function evictionCall(pod: PodRecord, graceSeconds: number | null): Call {
  return {
    doing: `evict pod ${podName(pod)}`,
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

/** Deletes the pod with this UID and no other one under its name. */
export function deletionCall(pod: PodRecord, tryOnly: boolean): Call {
  return {
    doing: `delete pod ${podName(pod)}`,
    method: 'DELETE',
    path: `/api/v1/namespaces/${encodeURIComponent(pod.namespace)}/pods/${encodeURIComponent(pod.name)}`,
    body: {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions: { uid: pod.uid },
      ...(tryOnly ? { dryRun: ['All'] } : {}),
    },
  }
}

/** Throws `PortError` when nobody can say that the pod goes. */
export function deletionAnswer(answer: Answer, pod: PodRecord): DeletionAnswer {
  const status = statusOf(answer)
  if ([200, 202].includes(answer.code)) return 'accepted'
  if (status !== null && answer.code === 404) return 'gone'
  if (status !== null && answer.code === 409 && isOtherUid(status)) return 'gone'
  throw answerError(answer, `delete pod ${podName(pod)}`)
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
      return { kind: 'manyBudgets', why: oneLine(status.message ?? '') }
    }
  }
  if (answer.code === 429) return { ...later(answer, status, LATER_SECONDS), kind: 'slowDown' }
  throw answerError(answer, `evict pod ${podName(pod)}`)
}

/** Another UID under the name, or two writes to the budget at once. */
function answerToConflict(answer: Answer, status: Status): EvictionAnswer {
  // Told apart, since asking again would spend the budget each time.
  return isOtherUid(status) ? { kind: 'gone' } : later(answer, status, LATER_SECONDS)
}

/** Worded differently from version to version. */
function isOtherUid({ message }: Status): boolean {
  return /precondition.*\buid\b|\buid\b.*precondition/i.test(message ?? '')
}

function answerToTooMany(answer: Answer, status: Status, pod: PodRecord): EvictionAnswer {
  const cause = status.details?.causes?.find(({ reason }) => reason === 'DisruptionBudget')
  if (cause === undefined) {
    // A webhook that wants to move the pod itself answers so, and means this pod only.
    if (/^admission webhook /.test(status.message ?? '')) return later(answer, status, RECOUNT_SECONDS)
    return { ...later(answer, status, LATER_SECONDS), kind: 'slowDown' }
  }
  const said = oneLine(cause.message ?? status.message ?? 'a disruption budget allows no eviction')
  // A refusal for lack of pods carries no time: nobody knows when they come.
  if (secondsAsked(answer, status) > 0 || said.includes('still being processed')) {
    return { ...later(answer, status, RECOUNT_SECONDS), why: said }
  }
  return { kind: 'blocked', ...budgetIn(said, pod.namespace) }
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
function budgetIn(said: string, namespace: string): { budget: string; why: string } {
  const counted = /^The disruption budget (\S+) needs (\d+) healthy pods and has (\d+) currently$/.exec(said)
  if (counted === null) return { budget: `${namespace}: ${said}`, why: `${namespace}: ${said}` }
  const budget = `${namespace}/${counted[1]}`
  return { budget, why: `budget ${budget} needs ${counted[2]} healthy, has ${counted[3]}` }
}
