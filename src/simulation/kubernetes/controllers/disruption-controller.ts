import { isDeepStrictEqual } from 'node:util'
import { BUDGETS, type Budget, type BudgetStatus } from '../kinds/budget.js'
import { PODS, type Pod } from '../kinds/pod.js'
import { REPLICA_SETS, STATEFUL_SETS, type Workload } from '../kinds/workload.js'
import { controllerOf, isTerminating, isTrue, timestamp, withCondition } from '../objects/api-object.js'
import { matchesSelector } from '../objects/label-selector.js'
import type { Resource } from '../objects/resource.js'
import { resourceOfKind } from '../objects/resources.js'
import { type Change, keyOfObject, type Store } from '../objects/store.js'
import type { Controller } from './controller.js'

/** A pod whose eviction was accepted, and that is still not going after this long, counts as staying. */
const DISRUPTED_MS = 120_000

/** Counts for every PodDisruptionBudget how many of its pods may go. */
export class DisruptionController implements Controller {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  keysOf({ resource, object }: Change): readonly string[] {
    if (resource === BUDGETS) return [keyOfObject(object)]
    // How many pods there should be is known from those who keep them.
    const counts = resource === PODS || resource === REPLICA_SETS || resource === STATEFUL_SETS
    return counts ? this.#store.list(BUDGETS, object.metadata.namespace).map(keyOfObject) : []
  }

  reconcile(key: string): number | undefined {
    const [namespace = '', name = ''] = key.split('/')
    const budget = this.#store.find(BUDGETS, namespace, name)
    if (budget === undefined) return undefined
    const { selector } = budget.spec
    const pods =
      selector === undefined
        ? []
        : this.#store
            .list(PODS, namespace)
            .filter(({ metadata }) => matchesSelector(selector, metadata.labels ?? {}))
    const disrupted = stillDisrupted(budget, pods)
    const status = this.#count(budget, pods, disrupted)
    if (!isDeepStrictEqual(status, budget.status)) this.#store.put(BUDGETS, { ...budget, status })
    return disrupted.size === 0 ? undefined : DISRUPTED_MS
  }

  #count(budget: Budget, pods: readonly Pod[], disrupted: ReadonlyMap<string, string>): BudgetStatus {
    const { expectedPods, desiredHealthy } = this.#wanted(budget, pods)
    const healthy = pods.filter(
      (pod) =>
        !isTerminating(pod) && !disrupted.has(pod.metadata.name) && isTrue(pod.status.conditions, 'Ready'),
    )
    const spare = healthy.length - desiredHealthy
    const disruptionsAllowed = expectedPods <= 0 || spare <= 0 ? 0 : spare
    const observedGeneration = budget.metadata.generation ?? 0
    const allowed = {
      ...{ type: 'DisruptionAllowed', observedGeneration, message: '' },
      ...(disruptionsAllowed > 0
        ? ({ status: 'True', reason: 'SufficientPods' } as const)
        : ({ status: 'False', reason: 'InsufficientPods' } as const)),
    }
    return {
      observedGeneration,
      ...(disrupted.size === 0 ? {} : { disruptedPods: Object.fromEntries(disrupted) }),
      ...{ disruptionsAllowed, currentHealthy: healthy.length, desiredHealthy, expectedPods },
      conditions: withCondition(budget.status.conditions, allowed, timestamp()),
    }
  }

  #wanted({ spec }: Budget, pods: readonly Pod[]): { expectedPods: number; desiredHealthy: number } {
    const { minAvailable, maxUnavailable } = spec
    if (maxUnavailable !== undefined) {
      const expectedPods = this.#expectedPods(pods)
      return {
        expectedPods,
        desiredHealthy: Math.max(0, expectedPods - amountOf(maxUnavailable, expectedPods)),
      }
    }
    if (typeof minAvailable === 'number') return { expectedPods: pods.length, desiredHealthy: minAvailable }
    if (minAvailable === undefined) return { expectedPods: 0, desiredHealthy: 0 }
    const expectedPods = this.#expectedPods(pods)
    return { expectedPods, desiredHealthy: amountOf(minAvailable, expectedPods) }
  }

  /** What those who keep the pods want there to be; a pod that nobody keeps is not expected. */
  #expectedPods(pods: readonly Pod[]): number {
    const keepers = new Map<string, number>()
    for (const pod of pods) {
      const owner = controllerOf(pod)
      if (owner === undefined || keepers.has(owner.uid)) continue
      const resource = resourceOfKind(owner.apiVersion, owner.kind)
      const found = resource && this.#store.find(resource, pod.metadata.namespace ?? '', owner.name)
      if (found?.metadata.uid !== owner.uid) continue
      keepers.set(owner.uid, replicasOf(this.#scaleOf(resource as Resource, found as Workload)))
    }
    return [...keepers.values()].reduce((sum, replicas) => sum + replicas, 0)
  }

  /** A ReplicaSet has as many as its Deployment wants: it may be the one of several that grows or shrinks. */
  #scaleOf(resource: Resource, keeper: Workload): Workload {
    if (resource !== REPLICA_SETS) return keeper
    const owner = controllerOf(keeper)
    const parent = owner && resourceOfKind(owner.apiVersion, owner.kind)
    const found = parent && this.#store.find(parent, keeper.metadata.namespace ?? '', owner.name)
    return (found as Workload | undefined) ?? keeper
  }
}

function stillDisrupted({ status }: Budget, pods: readonly Pod[]): ReadonlyMap<string, string> {
  const entries = Object.entries(status.disruptedPods ?? {}).filter(([name, time]) => {
    const pod = pods.find(({ metadata }) => metadata.name === name)
    return pod !== undefined && !isTerminating(pod) && Date.now() - Date.parse(time) < DISRUPTED_MS
  })
  return new Map(entries)
}

function replicasOf({ spec }: Workload): number {
  return spec.replicas ?? 1
}

/** Percentages are rounded up, for what must be there and for what may be missing. */
function amountOf(value: number | string, of: number): number {
  return typeof value === 'number' ? value : Math.ceil((Number.parseInt(value, 10) * of) / 100)
}
