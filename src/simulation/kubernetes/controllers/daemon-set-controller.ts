import { isDeepStrictEqual } from 'node:util'
import { NODES, type Node } from '../kinds/node.js'
import { isFinished, PODS, type Pod } from '../kinds/pod.js'
import type { PodSpec, Toleration } from '../kinds/pod-spec.js'
import { DAEMON_SETS, type Workload, type WorkloadStatus } from '../kinds/workload.js'
import { isTerminating, isTrue } from '../objects/api-object.js'
import { deleteObject } from '../objects/deletion.js'
import type { Registry } from '../objects/registry.js'
import { type Change, keyOfObject, type Store } from '../objects/store.js'
import type { Controller } from './controller.js'
import { isWanted, untolerated } from './node-fit.js'
import { type PodsByOwner, podFromTemplate, workloadKeys } from './pod-creation.js'

/** What a daemon's pod puts up with besides what its template says: a cordon among it. */
const TOLERATED: readonly Toleration[] = [
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/disk-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/pid-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
]

/** Keeps one pod of a DaemonSet on each node that it may run on. A changed template reaches only later pods. */
export class DaemonSetController implements Controller {
  readonly #store: Store
  readonly #registry: Registry
  readonly #pods: PodsByOwner

  constructor(registry: Registry, pods: PodsByOwner) {
    this.#registry = registry
    this.#store = registry.store
    this.#pods = pods
  }

  keysOf(change: Change): readonly string[] {
    if (change.resource !== NODES) return workloadKeys(this.#store, DAEMON_SETS, change)
    // Most of what is written on nodes has nothing to do with where daemons run.
    return isPlaceChanged(change) ? this.#store.list(DAEMON_SETS).map(keyOfObject) : []
  }

  reconcile(key: string): undefined {
    const [namespace = '', name = ''] = key.split('/')
    const set = this.#store.find(DAEMON_SETS, namespace, name)
    if (set === undefined || isTerminating(set)) return
    const byNode = new Map<string, Pod[]>()
    for (const pod of this.#pods.get(set.metadata.uid)) {
      const node = nodeMeant(pod)
      byNode.set(node, [...(byNode.get(node) ?? []), pod])
    }
    const spec = podSpecOf(set)
    let desired = 0
    for (const node of this.#store.list(NODES)) {
      const pods = byNode.get(node.metadata.name) ?? []
      const isPlace = isWanted(spec, node)
      if (isPlace && untolerated(spec, node, ['NoSchedule', 'NoExecute']).length === 0) {
        desired += 1
        this.#ensureOne(set, spec, node, pods)
      } else if (!isPlace || untolerated(spec, node, ['NoExecute']).length > 0) {
        // One that runs already is only driven out by what drives everything out.
        this.#end(pods)
      }
    }
    this.#writeStatus(set, desired)
  }

  #ensureOne(set: Workload, spec: PodSpec, node: Node, pods: readonly Pod[]): void {
    if (pods.length === 0) {
      const labels = { 'pod-template-generation': '1' }
      const pod = podFromTemplate(DAEMON_SETS, set, labels, boundTo(spec, node))
      this.#registry.createAnother(PODS, set.metadata.namespace ?? '', pod)
    }
    this.#end(pods.filter(isFinished))
  }

  #end(pods: readonly Pod[]): void {
    for (const pod of pods) {
      const { namespace = '', name } = pod.metadata
      if (!isTerminating(pod)) deleteObject(this.#store, PODS, namespace, name)
    }
  }

  #writeStatus(set: Workload, desired: number): void {
    const pods = this.#pods.get(set.metadata.uid).filter((pod) => !isTerminating(pod))
    const scheduled = pods.length
    const ready = pods.filter((pod) => isTrue(pod.status.conditions, 'Ready')).length
    const status: WorkloadStatus = {
      ...{ currentNumberScheduled: scheduled, numberMisscheduled: 0, desiredNumberScheduled: desired },
      ...{ numberReady: ready, observedGeneration: set.metadata.generation ?? 0 },
      ...(scheduled === 0 ? {} : { updatedNumberScheduled: scheduled }),
      ...(ready === 0 ? {} : { numberAvailable: ready }),
      ...(ready >= desired ? {} : { numberUnavailable: desired - ready }),
    }
    if (!isDeepStrictEqual(status, set.status)) this.#store.put(DAEMON_SETS, { ...set, status })
  }
}

function podSpecOf({ spec: { template } }: Workload): PodSpec {
  const { tolerations = [] } = template.spec
  const added = TOLERATED.filter(
    ({ key, effect }) => !tolerations.some((one) => one.key === key && one.effect === effect),
  )
  return { ...template.spec, tolerations: [...tolerations, ...added] }
}

/** By an affinity, so that the scheduler does the rest. */
function boundTo(spec: PodSpec, { metadata: { name } }: Node): PodSpec {
  const { affinity } = spec
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [name] }]
  const nodeSelectorTerms = (required?.nodeSelectorTerms ?? [{}]).map((term) => ({ ...term, matchFields }))
  const nodeAffinity = {
    ...affinity?.nodeAffinity,
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms },
  }
  return { ...spec, affinity: { ...affinity, nodeAffinity } }
}

function nodeMeant({ spec }: Pod): string {
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return spec.nodeName ?? required?.nodeSelectorTerms[0]?.matchFields?.[0]?.values?.[0] ?? ''
}

function isPlaceChanged({ before, object, deleted }: Change): boolean {
  if (before === null || deleted) return true
  const [old, now] = [before as Node, object as Node]
  return (
    !isDeepStrictEqual(old.metadata.labels, now.metadata.labels) ||
    !isDeepStrictEqual(old.spec.taints, now.spec.taints)
  )
}
