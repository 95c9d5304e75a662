import { isDeepStrictEqual } from 'node:util'
import { isFinished, PODS, type Pod } from '../kinds/pod.js'
import { STATEFUL_SETS, type StatefulSet } from '../kinds/workload.js'
import { isTerminating, isTrue } from '../objects/api-object.js'
import { deleteObject } from '../objects/deletion.js'
import type { Registry } from '../objects/registry.js'
import type { Change, Store } from '../objects/store.js'
import type { Controller } from './controller.js'
import { type PodsByOwner, podFromTemplate, workloadKeys } from './pod-creation.js'

/**
 * Keeps the pods `name-0`, `name-1`, … of a StatefulSet. A pod is made again under its name when the one before is
 * gone, and not sooner. A changed template reaches only pods that are made later.
 */
export class StatefulSetController implements Controller {
  readonly #store: Store
  readonly #registry: Registry
  readonly #pods: PodsByOwner

  constructor(registry: Registry, pods: PodsByOwner) {
    this.#registry = registry
    this.#store = registry.store
    this.#pods = pods
  }

  keysOf(change: Change): readonly string[] {
    return workloadKeys(this.#store, STATEFUL_SETS, change)
  }

  reconcile(key: string): undefined {
    const [namespace = '', name = ''] = key.split('/')
    const set = this.#store.find(STATEFUL_SETS, namespace, name)
    if (set === undefined || isTerminating(set)) return
    const replicas = set.spec.replicas ?? 1
    this.#fill(set, replicas)
    this.#shrink(set, replicas)
    this.#writeStatus(set)
  }

  /** In order, each only when all before it serve, unless the set says that order does not matter. */
  #fill(set: StatefulSet, replicas: number): void {
    const { namespace = '', name } = set.metadata
    for (let ordinal = 0; ordinal < replicas; ordinal++) {
      const podName = `${name}-${ordinal}`
      const pod = this.#store.find(PODS, namespace, podName)
      if (pod === undefined) this.#registry.create(PODS, namespace, podOf(set, ordinal, podName))
      else if (isFinished(pod) && !isTerminating(pod)) deleteObject(this.#store, PODS, namespace, podName)
      const serves = pod !== undefined && !isTerminating(pod) && isReady(pod)
      if (!serves && set.spec.podManagementPolicy !== 'Parallel') return
    }
  }

  #shrink(set: StatefulSet, replicas: number): void {
    const surplus = this.#pods
      .get(set.metadata.uid)
      .filter((pod) => ordinalOf(pod) >= replicas)
      .sort((a, b) => ordinalOf(b) - ordinalOf(a))
    for (const pod of surplus) {
      if (!isTerminating(pod))
        deleteObject(this.#store, PODS, set.metadata.namespace ?? '', pod.metadata.name)
      if (set.spec.podManagementPolicy !== 'Parallel') return
    }
  }

  #writeStatus(set: StatefulSet): void {
    const pods = this.#pods.get(set.metadata.uid)
    const ready = pods.filter((pod) => !isTerminating(pod) && isReady(pod)).length
    const status = {
      observedGeneration: set.metadata.generation ?? 0,
      replicas: pods.length,
      ...(pods.length === 0 ? {} : { currentReplicas: pods.length, updatedReplicas: pods.length }),
      ...(ready === 0 ? {} : { readyReplicas: ready }),
      ...{ collisionCount: 0, availableReplicas: ready },
    }
    if (!isDeepStrictEqual(status, set.status)) this.#store.put(STATEFUL_SETS, { ...set, status })
  }
}

function podOf(set: StatefulSet, ordinal: number, name: string) {
  const labels = {
    'apps.kubernetes.io/pod-index': String(ordinal),
    'statefulset.kubernetes.io/pod-name': name,
  }
  const subdomain = set.spec.serviceName === undefined ? {} : { subdomain: set.spec.serviceName }
  const pod = podFromTemplate(STATEFUL_SETS, set, labels, { hostname: name, ...subdomain })
  return { ...pod, metadata: { ...(pod.metadata as object), name } }
}

function isReady({ status }: Pod): boolean {
  return status.phase === 'Running' && isTrue(status.conditions, 'Ready')
}

function ordinalOf({ metadata }: Pod): number {
  return Number(metadata.name.slice(metadata.name.lastIndexOf('-') + 1))
}
