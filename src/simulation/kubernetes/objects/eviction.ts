import { setTimeout as sleep } from 'node:timers/promises'
import { BUDGETS, type Budget } from '../kinds/budget.js'
import { isFinished, PODS, type Pod, withPodCondition } from '../kinds/pod.js'
import { ApiError, badRequest, forbidden, notFound, type Status, success } from './api-error.js'
import { isTerminating, isTrue, type JsonObject, partOf, timestamp, withCondition } from './api-object.js'
import { type DeleteOptions, readDeleteOptions } from './delete-options.js'
import { deleteObject } from './deletion.js'
import { matchesSelector } from './label-selector.js'
import type { Store } from './store.js'

/** How often, and how far apart, a deletion that meets a conflict is tried. */
const TRIES = 20
const PAUSE_MS = 500
const JITTER = 0.1
const MOST_DISRUPTED = 2_000
const RECOUNT_SECONDS = 10

const REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
const TWO_BUDGETS =
  'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.'

export interface EvictionRequest {
  readonly namespace: string
  readonly name: string
  readonly eviction: JsonObject
  readonly dryRun: boolean
}

/**
 * Evicts a pod as policy/v1 does. The budget is spent before the pod is deleted: a precondition that fails then costs
 * it all the same. Throws `ApiError`, and the reason of `life` when that ends before.
 */
export async function evictPod(
  store: Store,
  { namespace, name, eviction, dryRun }: EvictionRequest,
  life: AbortSignal,
): Promise<Status> {
  if (eviction.kind !== undefined && eviction.kind !== 'Eviction') throw badRequest('not a Eviction object')
  if (partOf(eviction, 'metadata').name !== name) {
    throw badRequest('name in URL does not match name in Eviction object')
  }
  const asked = readDeleteOptions(eviction.deleteOptions)
  const options = dryRun ? { ...asked, dryRun } : asked
  for (let tries = 1; ; tries++) {
    const pod = podCalled(store, namespace, name)
    if (!needsNoBudget(pod)) break
    try {
      deleteWithReason(store, pod, options)
      return success(undefined, 201)
    } catch (error) {
      // Also when it is the UID that does not fit, and never will.
      if (!(error instanceof ApiError) || error.code !== 409 || tries === TRIES) throw error
      await sleep(PAUSE_MS * (1 + Math.random() * JITTER), undefined, { signal: life })
    }
  }
  const pod = podCalled(store, namespace, name)
  const budgets = store.list(BUDGETS, namespace).filter((budget) => covers(budget, pod))
  if (budgets.length > 1) throw new ApiError(500, null, TWO_BUDGETS)
  const [budget] = budgets
  if (budget !== undefined && !isUnguarded(budget, pod)) spend(store, budget, name, options.dryRun ?? false)
  deleteWithReason(store, pod, options)
  return success(undefined, 201)
}

function podCalled(store: Store, namespace: string, name: string): Pod {
  const pod = store.find(PODS, namespace, name)
  if (pod === undefined) throw notFound(PODS, name)
  return pod
}

/** What has ended, ends anyway or never ran is no disruption. */
function needsNoBudget(pod: Pod): boolean {
  return isFinished(pod) || pod.status.phase === 'Pending' || isTerminating(pod)
}

function covers({ spec: { selector } }: Budget, { metadata }: Pod): boolean {
  return selector !== undefined && matchesSelector(selector, metadata.labels ?? {})
}

/** A pod that is not ready may go when enough others are, or when the budget says so. */
function isUnguarded({ spec, status }: Budget, pod: Pod): boolean {
  if (isTrue(pod.status.conditions, 'Ready')) return false
  if (spec.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true
  return status.desiredHealthy > 0 && status.currentHealthy >= status.desiredHealthy
}

function spend(store: Store, budget: Budget, podName: string, dryRun: boolean): void {
  const { metadata, status } = budget
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    const message = `The disruption budget ${metadata.name} is still being processed by the server.`
    throw refusal(message, RECOUNT_SECONDS)
  }
  if (status.disruptionsAllowed < 0) {
    throw forbidden(BUDGETS, metadata.name, 'pdb disruptions allowed is negative')
  }
  const disruptedPods = status.disruptedPods ?? {}
  if (Object.keys(disruptedPods).length > MOST_DISRUPTED) {
    const why = 'DisruptedPods map too big - too many evictions not confirmed by PDB controller'
    throw forbidden(BUDGETS, metadata.name, why)
  }
  if (status.disruptionsAllowed === 0) {
    const { desiredHealthy, currentHealthy } = status
    throw refusal(
      `The disruption budget ${metadata.name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`,
      0,
    )
  }
  if (dryRun) return
  const now = timestamp()
  const disruptionsAllowed = status.disruptionsAllowed - 1
  const none = {
    type: 'DisruptionAllowed',
    status: 'False',
    reason: 'InsufficientPods',
    message: '',
  } as const
  store.put(BUDGETS, {
    ...budget,
    status: {
      ...status,
      disruptionsAllowed,
      disruptedPods: { ...disruptedPods, [podName]: now },
      ...(disruptionsAllowed === 0
        ? {
            conditions: withCondition(
              status.conditions,
              { ...none, observedGeneration: status.observedGeneration ?? 0 },
              now,
            ),
          }
        : {}),
    },
  })
}

/** With the condition that tells why it ends. */
function deleteWithReason(store: Store, pod: Pod, options: DeleteOptions): void {
  const { namespace = '', name } = pod.metadata
  // First of all: nothing is written on a pod that is not the one that was meant.
  deleteObject(store, PODS, namespace, name, { ...options, dryRun: true })
  if (options.dryRun) return
  const reason = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  } as const
  store.put(PODS, withPodCondition(pod, reason))
  const { resourceVersion: _, ...preconditions } = options.preconditions ?? {}
  deleteObject(store, PODS, namespace, name, { ...options, preconditions })
}

function refusal(cause: string, retryAfterSeconds: number): ApiError {
  return new ApiError(429, 'TooManyRequests', REFUSED, {
    causes: [{ reason: 'DisruptionBudget', message: cause }],
    ...(retryAfterSeconds === 0 ? {} : { retryAfterSeconds }),
  })
}
