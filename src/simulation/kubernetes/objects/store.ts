import { Changes, type Unsubscribe } from '../../changes.js'
import { expired } from './api-error.js'
import type { ApiObject } from './api-object.js'
import type { Look, Resource } from './resource.js'

/** One write. `before` is null for a new object, `after` for one that is gone. */
export interface Change {
  readonly resource: Resource
  readonly version: number
  readonly before: ApiObject | null
  /** Of a deletion: the object as it last was, at the version of its deletion. */
  readonly object: ApiObject
  readonly deleted: boolean
}

/** Objects per kind, one version number over all of them, and the last changes for watches to begin from. */
export class Store implements Look {
  readonly #objects = new Map<Resource, Map<string, ApiObject>>()
  readonly #changes = new Changes<Change>()
  readonly #kept: number
  #history: Change[] = []
  #version = 1
  /** Of the newest change that is no longer in the history. */
  #forgotten = 0

  /** `kept`: how many changes a watch can be behind. */
  constructor(kept: number) {
    this.#kept = kept
  }

  get version(): number {
    return this.#version
  }

  find<T extends ApiObject>(resource: Resource<T>, namespace: string, name: string): T | undefined {
    return this.#of(resource).get(keyOf(namespace, name))
  }

  /** In no particular order. */
  list<T extends ApiObject>(resource: Resource<T>, namespace = ''): readonly T[] {
    const all = [...this.#of(resource).values()]
    return namespace === '' ? all : all.filter(({ metadata }) => metadata.namespace === namespace)
  }

  /**
   * As it was at an earlier version, by key. Throws `ApiError` when that is too long ago.
   */
  listAt(resource: Resource, version: number): ReadonlyMap<string, ApiObject> {
    const objects = new Map(this.#of(resource))
    for (const change of this.since(version).reverse()) {
      if (change.resource !== resource) continue
      const key = keyOfObject(change.object)
      if (change.before === null) objects.delete(key)
      else objects.set(key, change.before)
    }
    return objects
  }

  /** Stores a new object or another state of one, and gives it with its new version. */
  put<T extends ApiObject>(resource: Resource<T>, object: T): T {
    const objects = this.#of(resource)
    const key = keyOfObject(object)
    const before = objects.get(key) ?? null
    const stored = this.#versioned(object)
    objects.set(key, stored)
    this.#tell({ resource, version: this.#version, before, object: stored, deleted: false })
    return stored
  }

  remove<T extends ApiObject>(resource: Resource<T>, object: T): T {
    const objects = this.#of(resource)
    const key = keyOfObject(object)
    const before = objects.get(key) ?? null
    const last = this.#versioned(object)
    objects.delete(key)
    this.#tell({ resource, version: this.#version, before, object: last, deleted: true })
    return last
  }

  /** Every change after a version. Throws `ApiError` 410 when the history does not reach back so far. */
  since(version: number): Change[] {
    if (version < this.#forgotten) {
      throw expired(`too old resource version: ${version} (${this.#forgotten})`)
    }
    let first = this.#history.length
    while (first > 0 && (this.#history[first - 1]?.version ?? 0) > version) first -= 1
    return this.#history.slice(first)
  }

  /** As an API server does that restarts: objects stay, and watches begin anew. */
  forgetHistory(): void {
    this.#history = []
    this.#forgotten = this.#version
  }

  subscribe(listener: (change: Change) => void): Unsubscribe {
    return this.#changes.subscribe(listener)
  }

  #versioned<T extends ApiObject>(object: T): T {
    this.#version += 1
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } }
  }

  #tell(change: Change): void {
    this.#history.push(change)
    // In one go now and then: taking them off one by one moves the whole list each time.
    if (this.#history.length > this.#kept * 2) {
      const gone = this.#history.splice(0, this.#history.length - this.#kept)
      this.#forgotten = gone.at(-1)?.version ?? this.#forgotten
    }
    this.#changes.tell(change)
  }

  #of<T extends ApiObject>(resource: Resource<T>): Map<string, T> {
    let objects = this.#objects.get(resource) as Map<string, T> | undefined
    if (objects === undefined) {
      objects = new Map()
      this.#objects.set(resource, objects)
    }
    return objects
  }
}

/** Sorts as the API server lists. */
function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`
}

export function keyOfObject({ metadata }: ApiObject): string {
  return keyOf(metadata.namespace ?? '', metadata.name)
}
