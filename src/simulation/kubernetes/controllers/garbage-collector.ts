import { type ApiObject, isTerminating, type OwnerReference } from '../objects/api-object.js'
import { deleteObject } from '../objects/deletion.js'
import type { ObjectIndex } from '../objects/object-index.js'
import type { Resource } from '../objects/resource.js'
import { RESOURCES, resourceOfKind } from '../objects/resources.js'
import { type Change, keyOfObject, type Store } from '../objects/store.js'
import type { Controller } from './controller.js'

/** Deletes what belonged to something that is no longer there. */
export class GarbageCollector implements Controller {
  readonly #store: Store
  readonly #dependents: ReadonlyMap<Resource, ObjectIndex<ApiObject>>

  /** `dependents`: the objects of each kind by the UIDs of their owners. */
  constructor(store: Store, dependents: ReadonlyMap<Resource, ObjectIndex<ApiObject>>) {
    this.#store = store
    this.#dependents = dependents
  }

  keysOf({ resource, object, before, deleted }: Change): readonly string[] {
    const { uid, ownerReferences = [] } = object.metadata
    if (!deleted) {
      // Its owner may be gone before it comes.
      return before === null && ownerReferences.length > 0 ? [word(resource, keyOfObject(object))] : []
    }
    return [...this.#dependents].flatMap(([kind, index]) =>
      index.get(uid).map((dependent) => word(kind, keyOfObject(dependent))),
    )
  }

  reconcile(key: string): undefined {
    const [index = '', namespace = '', name = ''] = key.split('/')
    const resource = RESOURCES[Number(index)]
    const object = resource && this.#store.find(resource, namespace, name)
    if (resource === undefined || object === undefined || isTerminating(object)) return
    const owners = object.metadata.ownerReferences ?? []
    if (owners.length === 0 || owners.some((owner) => this.#exists(owner, namespace))) return
    const { uid } = object.metadata
    deleteObject(this.#store, resource, namespace, name, { preconditions: { uid } })
  }

  /** An owner of a kind that is unknown here may exist. */
  #exists({ apiVersion, kind, name, uid }: OwnerReference, namespace: string): boolean {
    const resource = resourceOfKind(apiVersion, kind)
    if (resource === undefined) return true
    return this.#store.find(resource, resource.namespaced ? namespace : '', name)?.metadata.uid === uid
  }
}

function word(resource: Resource, key: string): string {
  return `${RESOURCES.indexOf(resource)}/${key}`
}
