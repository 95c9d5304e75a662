import { isDeepStrictEqual } from 'node:util'
import { PODS, type Pod } from '../kinds/pod.js'
import { REPLICA_SETS, type Workload, type WorkloadStatus } from '../kinds/workload.js'
import { isTerminating, isTrue } from '../objects/api-object.js'
import { deleteObject } from '../objects/deletion.js'
import type { Registry } from '../objects/registry.js'
import type { Change, Store } from '../objects/store.js'
import type { Controller } from './controller.js'
import { isActive, type PodsByOwner, podFromTemplate, workloadKeys } from './pod-creation.js'

/** Keeps as many pods as a ReplicaSet wants. One that ends is replaced at once, not when it has ended. */
export class ReplicaSetController implements Controller {
  readonly #store: Store
  readonly #registry: Registry
  readonly #pods: PodsByOwner

  constructor(registry: Registry, pods: PodsByOwner) {
    this.#registry = registry
    this.#store = registry.store
    this.#pods = pods
  }

  keysOf(change: Change): readonly string[] {
    return workloadKeys(this.#store, REPLICA_SETS, change)
  }

  reconcile(key: string): undefined {
    const [namespace = '', name = ''] = key.split('/')
    const set = this.#store.find(REPLICA_SETS, namespace, name)
    if (set === undefined || isTerminating(set)) return
    const active = this.#pods.get(set.metadata.uid).filter(isActive)
    const surplus = active.length - (set.spec.replicas ?? 1)
    for (let missing = -surplus; missing > 0; missing--) {
      this.#registry.createAnother(PODS, namespace, podFromTemplate(REPLICA_SETS, set))
    }
    for (const pod of active.sort(leastUsefulFirst).slice(0, Math.max(0, surplus))) {
      deleteObject(this.#store, PODS, namespace, pod.metadata.name)
    }
    this.#writeStatus(set)
  }

  #writeStatus(set: Workload): void {
    const pods = this.#pods.get(set.metadata.uid)
    const active = pods.filter(isActive)
    const ready = active.filter((pod) => isTrue(pod.status.conditions, 'Ready')).length
    const status: WorkloadStatus = {
      replicas: active.length,
      ...(active.length === 0 ? {} : { fullyLabeledReplicas: active.length }),
      ...(ready === 0 ? {} : { readyReplicas: ready, availableReplicas: ready }),
      terminatingReplicas: pods.filter(isTerminating).length,
      observedGeneration: set.metadata.generation ?? 0,
    } as WorkloadStatus
    if (!isDeepStrictEqual(status, set.status)) this.#store.put(REPLICA_SETS, { ...set, status })
  }
}

/** Not on a node, not ready, youngest. */
function leastUsefulFirst(a: Pod, b: Pod): number {
  const rank = ({ spec, status }: Pod) =>
    (spec.nodeName === undefined ? 0 : 2) + (isTrue(status.conditions, 'Ready') ? 1 : 0)
  return rank(a) - rank(b) || Number(b.metadata.resourceVersion) - Number(a.metadata.resourceVersion)
}
