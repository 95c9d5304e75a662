import { isFinished, PODS, type Pod } from '../kinds/pod.js'
import type { PodSpec } from '../kinds/pod-spec.js'
import type { Workload } from '../kinds/workload.js'
import { controllerOf, isTerminating, type JsonObject, type OwnerReference } from '../objects/api-object.js'
import type { ObjectIndex } from '../objects/object-index.js'
import { apiVersionOf, type Resource } from '../objects/resource.js'
import type { Store } from '../objects/store.js'

/** The pods of each owner, by its UID. */
export type PodsByOwner = ObjectIndex<Pod>

export function ownedBy(resource: Resource, { metadata }: Workload): OwnerReference {
  return {
    ...{ apiVersion: apiVersionOf(resource), kind: resource.kind, name: metadata.name, uid: metadata.uid },
    ...{ controller: true, blockOwnerDeletion: true },
  }
}

/** A pod from a workload's template, to be created. */
export function podFromTemplate(
  resource: Resource,
  workload: Workload,
  labels: Readonly<Record<string, string>> = {},
  spec: Partial<PodSpec> = {},
): JsonObject {
  const { metadata = {}, spec: template } = workload.spec.template
  return {
    metadata: {
      generateName: `${workload.metadata.name}-`,
      labels: { ...metadata.labels, ...labels },
      ...(metadata.annotations === undefined ? {} : { annotations: metadata.annotations }),
      ...(metadata.finalizers === undefined ? {} : { finalizers: metadata.finalizers }),
      ownerReferences: [ownedBy(resource, workload)],
    },
    spec: { ...template, ...spec },
  }
}

/** The workload that keeps a pod, when it is of this kind. */
function keeperOf(store: Store, resource: Resource, pod: Pod): string | null {
  const owner = controllerOf(pod)
  if (owner?.kind !== resource.kind || owner.apiVersion !== apiVersionOf(resource)) return null
  const keeper = store.find(resource, pod.metadata.namespace ?? '', owner.name)
  return keeper?.metadata.uid === owner.uid ? `${keeper.metadata.namespace}/${owner.name}` : null
}

/** Runs, or is going to. */
export function isActive(pod: Pod): boolean {
  return !isFinished(pod) && !isTerminating(pod)
}

/** What a change of this object means to the workloads of one kind: the workload itself, or who keeps the pod. */
export function workloadKeys(
  store: Store,
  resource: Resource,
  change: { readonly resource: Resource; readonly object: { readonly metadata: Workload['metadata'] } },
): readonly string[] {
  const { metadata } = change.object
  if (change.resource === resource) return [`${metadata.namespace}/${metadata.name}`]
  if (change.resource !== PODS) return []
  const keeper = keeperOf(store, resource, change.object as Pod)
  return keeper === null ? [] : [keeper]
}
