import type { Kept } from '../../ports/cluster.js'
import { PortError, portErrorKind } from '../../ports/errors.js'
import type { KubernetesApi } from './api.js'
import { list, METADATA } from './objects.js'
import { type Follower, followWatch, type LiveWatching, type WatchEvent, type Watched } from './watch.js'

/** What is kept of a collection, and how. */
export interface Mirrored<Wire, T> extends Watched {
  /** What is kept of an object. */
  read(item: unknown): Wire
  /** As it is handed out. `nowMs` is the API server's clock. */
  made(wire: Wire, nowMs: number): T
  /** List again with each connection, and take a new one so often: the slow poll underneath a watch that has died. */
  readonly listEverySeconds: number | null
}

interface Listener {
  onChange(): void
}

/**
 * A collection as it is now: one list, the events of one watch, and another list after every gap. `current` waits for
 * the first list. One mirror serves all who have opened it, and ends with the last of them.
 */
export class Mirror<Wire, T> {
  readonly #api: KubernetesApi
  readonly #mirrored: Mirrored<Wire, T>
  readonly #listeners = new Set<Listener>()
  #watching: LiveWatching | null = null
  /** By UID; null until the first list. */
  #objects: Map<string, Wire> | null = null
  /** Added to our clock it gives the server's. */
  #skewMs = 0
  /** Why the last try failed. */
  #problem: unknown = null
  #waiting: (() => void)[] = []

  constructor(api: KubernetesApi, mirrored: Mirrored<Wire, T>) {
    this.#api = api
    this.#mirrored = mirrored
  }

  open(onChange: () => void): Kept<T> {
    const listener = { onChange }
    this.#listeners.add(listener)
    this.#watching ??= followWatch(this.#api, this.#mirrored, this.#follower())
    return {
      current: (signal) => this.#current(signal),
      close: () => {
        this.#listeners.delete(listener)
        if (this.#listeners.size > 0) return
        this.#watching?.close()
        this.#watching = null
        this.#objects = null
        this.#problem = null
      },
    }
  }

  async #current(signal: AbortSignal): Promise<readonly T[]> {
    signal.throwIfAborted()
    if (this.#objects === null && this.#problem === null) await this.#nextOutcome(signal)
    // What cannot be read for good must not look like what was there once.
    const kind = portErrorKind(this.#problem)
    if (kind === 'refused' || kind === 'notFound') throw this.#problem
    if (this.#objects === null) throw this.#unreadable()
    const nowMs = Date.now() + this.#skewMs
    return [...this.#objects.values()].map((wire) => this.#mirrored.made(wire, nowMs))
  }

  #unreadable(): PortError {
    if (this.#problem instanceof PortError) return this.#problem
    const why = this.#problem instanceof Error ? this.#problem.message : 'the connection failed'
    return new PortError('unreachable', `Could not list ${this.#mirrored.what}: ${why}.`)
  }

  #nextOutcome(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = () => reject(signal.reason)
      signal.addEventListener('abort', abort, { once: true })
      this.#waiting.push(() => {
        signal.removeEventListener('abort', abort)
        resolve()
      })
    })
  }

  #follower(): Follower {
    const { what, path, query, read, listEverySeconds } = this.#mirrored
    return {
      ...(listEverySeconds === null ? {} : { endsAfterSeconds: listEverySeconds, alwaysBegins: true }),
      begin: async (signal) => {
        try {
          const call = { doing: `list ${what}`, path, query }
          const keep = (item: unknown) => ({ uid: uidOf(item), wire: read(item) })
          const { items, dateMs, resourceVersion } = await list(this.#api, call, keep, signal)
          signal.throwIfAborted()
          this.#objects = new Map(items.map(({ uid, wire }) => [uid, wire]))
          this.#skewMs = dateMs === null ? this.#skewMs : dateMs - Date.now()
          this.#problem = null
          return resourceVersion ?? ''
        } catch (error) {
          if (!signal.aborted) this.#problem = error
          throw error
        } finally {
          if (!signal.aborted) this.#changed()
        }
      },
      tell: (events) => {
        for (const event of events) this.#apply(event)
        this.#changed()
      },
    }
  }

  #apply({ type, object }: WatchEvent): void {
    const uid = uidOf(object)
    if (type === 'DELETED') this.#objects?.delete(uid)
    else this.#objects?.set(uid, this.#mirrored.read(object))
  }

  #changed(): void {
    for (const waiting of this.#waiting.splice(0)) waiting()
    for (const listener of this.#listeners) listener.onChange()
  }
}

function uidOf(item: unknown): string {
  return METADATA.pick({ uid: true }).safeParse((item as { metadata?: unknown })?.metadata).data?.uid ?? ''
}
