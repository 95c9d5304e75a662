import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import type { Watching } from '../../ports/cluster.js'
import { follow } from '../../ports/deadline.js'
import type { KubernetesApi } from './api.js'
import { answerError } from './errors.js'
import { lines } from './lines.js'
import { METADATA, objectIn } from './objects.js'

/** A collection, or the part of it that a field selector names. */
export interface Watched {
  /** In words, for error messages. */
  readonly what: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
}

export interface LiveWatching extends Watching {
  /** Seconds since the server last sent anything, bookmarks included; `Infinity` before the first time. */
  silentSeconds(): number
  /** Ends the present connection, whatever it has in its buffers; the next one goes on from what has been told. */
  renew(): void
}

/** The server ends each watch by itself, with a bookmark shortly before: no live watch is silent for longer. */
const SERVER_ENDS_AFTER_SECONDS = 50
/** A watch that has been silent for so much longer is dead, whatever the connection looks like. */
const GRACE_MS = 10_000
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 10_000
/** Whoever has stood this long begins with the short pause again. */
const GOOD_AFTER_MS = 5_000

/** Names are all a watcher needs, a hundredth of the full objects. Servers that cannot do this send those. */
const NAMES_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'
const LIST_OF_NAMES = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'

const POSITION = z.object({ metadata: z.object({ resourceVersion: z.string().min(1) }) })
const EVENT = z.object({
  type: z.string(),
  object: z.looseObject({ metadata: METADATA.partial().loose().nullish() }),
})

/** Something happened to an object, which is as the watch's `accept` asks for it. */
export type WatchEvent = z.infer<typeof EVENT>

/** What a watch is for. */
export interface Follower {
  /** How the objects of the events are asked for; absent: whole. */
  readonly accept?: string
  /** Seconds after which the server ends a connection, and the watch takes another one. */
  readonly endsAfterSeconds?: number
  /** Begin anew with every connection, so that what was missed for whatever reason is seen then. */
  readonly alwaysBegins?: boolean
  /** Tell of bookmarks, too: they say how far the server is, of an object that has nothing but a resource version. */
  readonly tellsBookmarks?: boolean
  /**
   * Gives the resource version up to which everything is known to the follower, or will be. Null where there is nothing
   * that a watch could begin at, which ends it for good.
   */
  begin(signal: AbortSignal): Promise<string | null>
  /** Throws when an event cannot be understood: the watch then begins anew. */
  tell(events: readonly WatchEvent[]): void
  /** From here until the next `begin` something may be missed. */
  lost?(): void
}

/**
 * Calls `onChange` with the names of the objects that changed. It calls with an empty list when changes may have been
 * missed, the very beginning included: the caller lists then. Reconnects until closed; nothing is called after that.
 */
export function watch(
  api: KubernetesApi,
  watched: Watched,
  onChange: (names: readonly string[]) => void,
): LiveWatching {
  return followWatch(api, watched, {
    accept: NAMES_ONLY,
    // First the position, then the word to list: so the list is never older than where the watch begins.
    begin: async (signal) => {
      const { what, path, query } = watched
      const doing = `begin to watch ${what}`
      const one = { ...query, limit: '1' }
      const call = { doing, method: 'GET', path, query: one, accept: LIST_OF_NAMES } as const
      const { resourceVersion } = objectIn(await api.call(call, signal), POSITION, doing).metadata
      if (!signal.aborted) onChange([])
      return resourceVersion
    },
    tell: (events) => {
      const names = events.flatMap(({ object }) => object.metadata?.name ?? [])
      if (names.length > 0) onChange(names)
    },
  })
}

/** Tells `follower` of every event of a collection until closed; nothing is told after that. */
export function followWatch(api: KubernetesApi, watched: Watched, follower: Follower): LiveWatching {
  const watching = new Watch(api, watched, follower)
  void watching.run()
  return watching
}

class Watch implements LiveWatching {
  readonly #api: KubernetesApi
  readonly #watched: Watched
  readonly #follower: Follower
  readonly #endsAfterSeconds: number
  readonly #closed = new AbortController()
  /** Everything up to this resource version has been told; null when that is not known. */
  #position: string | null = null
  #heardAtMs = Number.NEGATIVE_INFINITY
  #connection: AbortController | null = null

  constructor(api: KubernetesApi, watched: Watched, follower: Follower) {
    this.#api = api
    this.#watched = watched
    this.#follower = follower
    this.#endsAfterSeconds = follower.endsAfterSeconds ?? SERVER_ENDS_AFTER_SECONDS
  }

  close(): void {
    this.#closed.abort()
  }

  silentSeconds(): number {
    return (performance.now() - this.#heardAtMs) / 1000
  }

  renew(): void {
    this.#connection?.abort()
  }

  async run(): Promise<void> {
    const { signal } = this.#closed
    let failures = 0
    while (!signal.aborted) {
      const beganMs = performance.now()
      const ended = await this.#connect().catch(() => 'failed' as const)
      if (signal.aborted || ended === 'nothingToWatch') return
      const wasGood = performance.now() - beganMs > GOOD_AFTER_MS
      if (wasGood) failures = 0
      if (wasGood && ended === 'byServer') continue
      // Also after an orderly end that came at once: a server or proxy that does so would be asked without a pause.
      const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures) * (0.5 + Math.random() / 2)
      failures++
      await wait(pauseMs, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  async #connect(): Promise<'byServer' | 'nothingToWatch'> {
    const connection = new AbortController()
    this.#connection = connection
    const letGo = follow(this.#closed.signal, connection)
    const silence = setTimeout(() => connection.abort(), this.#endsAfterSeconds * 1000 + GRACE_MS)
    try {
      if (this.#follower.alwaysBegins) this.#position = null
      this.#position ??= await this.#follower.begin(connection.signal)
      if (this.#position === null) return 'nothingToWatch'
      const body = await this.#open(this.#position, connection.signal)
      this.#heard()
      for await (const some of lines(body)) {
        silence.refresh()
        this.#heard()
        this.#tell(some)
      }
      return 'byServer'
    } finally {
      clearTimeout(silence)
      letGo()
      connection.abort()
    }
  }

  async #open(resourceVersion: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const { what, path, query } = this.#watched
    const doing = `watch ${what}`
    const asked = {
      ...query,
      watch: 'true',
      resourceVersion,
      allowWatchBookmarks: 'true',
      timeoutSeconds: `${this.#endsAfterSeconds}`,
    }
    const { accept } = this.#follower
    const call = { doing, method: 'GET', path, query: asked, ...(accept && { accept }) } as const
    const answer = await this.#api.stream(call, signal)
    if (!('code' in answer)) return answer.body
    // Also when only the watch is forbidden, and not the beginning: what can be asked for is asked for again then.
    if (answer.code === 410 || answer.code === 403) this.#lose()
    throw answerError(answer, doing)
  }

  #tell(some: readonly string[]): void {
    try {
      const events: WatchEvent[] = []
      try {
        for (const line of some) {
          const event = EVENT.parse(JSON.parse(line))
          if (event.type === 'ERROR')
            throw new Error(`watching ${this.#watched.what} ended with an error event`)
          if (event.type !== 'BOOKMARK' || this.#follower.tellsBookmarks) events.push(event)
          this.#position = event.object.metadata?.resourceVersion ?? this.#position
        }
      } finally {
        if (events.length > 0 && !this.#closed.signal.aborted) this.#follower.tell(events)
      }
    } catch (error) {
      // Too old a position, mostly, or an object nobody can read. Whatever it is, what happened since is not known.
      this.#lose()
      throw error
    }
  }

  #lose(): void {
    this.#position = null
    if (!this.#closed.signal.aborted) this.#follower.lost?.()
  }

  #heard(): void {
    this.#heardAtMs = performance.now()
  }
}
