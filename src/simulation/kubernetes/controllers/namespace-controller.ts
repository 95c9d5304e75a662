import { NAMESPACES } from '../kinds/namespace.js'
import { isTerminating } from '../objects/api-object.js'
import { deleteObject } from '../objects/deletion.js'
import { RESOURCES } from '../objects/resources.js'
import type { Change, Store } from '../objects/store.js'
import type { Controller } from './controller.js'

/** Empties a namespace that is to go, and lets it go when it is empty. */
export class NamespaceController implements Controller {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  keysOf({ resource, object, deleted }: Change): readonly string[] {
    if (resource === NAMESPACES) return [object.metadata.name]
    const { namespace } = object.metadata
    return deleted && namespace !== undefined ? [namespace] : []
  }

  reconcile(name: string): undefined {
    const namespace = this.#store.find(NAMESPACES, '', name)
    if (namespace === undefined || !isTerminating(namespace)) return
    const content = RESOURCES.filter(({ namespaced }) => namespaced).flatMap((resource) =>
      this.#store.list(resource, name).map((object) => ({ resource, object })),
    )
    for (const { resource, object } of content) {
      if (!isTerminating(object)) deleteObject(this.#store, resource, name, object.metadata.name)
    }
    const isEmpty = RESOURCES.every(
      (resource) => !resource.namespaced || this.#store.list(resource, name).length === 0,
    )
    if (isEmpty) this.#store.remove(NAMESPACES, { ...namespace, spec: {} })
  }
}
