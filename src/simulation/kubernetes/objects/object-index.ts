import type { ApiObject } from './api-object.js'
import type { Resource } from './resource.js'
import { type Change, keyOfObject, type Store } from './store.js'

/** The objects of a kind by something they say, such as the node a pod is on: found without looking at all of them. */
export class ObjectIndex<T extends ApiObject> {
  readonly #resource: Resource<T>
  readonly #wordsOf: (object: T) => readonly string[]
  readonly #objects = new Map<string, Map<string, T>>()

  constructor(store: Store, resource: Resource<T>, wordsOf: (object: T) => readonly string[]) {
    this.#resource = resource
    this.#wordsOf = wordsOf
    for (const object of store.list(resource)) this.#add(object)
    store.subscribe((change) => this.#seen(change))
  }

  get(word: string): readonly T[] {
    return [...(this.#objects.get(word)?.values() ?? [])]
  }

  #seen({ resource, before, object, deleted }: Change): void {
    if (resource !== this.#resource) return
    if (before !== null) this.#remove(before as T)
    if (!deleted) this.#add(object as T)
  }

  #add(object: T): void {
    for (const word of this.#wordsOf(object)) {
      const found = this.#objects.get(word)
      if (found === undefined) this.#objects.set(word, new Map([[keyOfObject(object), object]]))
      else found.set(keyOfObject(object), object)
    }
  }

  #remove(object: T): void {
    for (const word of this.#wordsOf(object)) {
      const found = this.#objects.get(word)
      found?.delete(keyOfObject(object))
      if (found?.size === 0) this.#objects.delete(word)
    }
  }
}
