import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import type { NodeRecord } from '../../core/model.js'
import { RECENT_SECONDS, type Watching } from '../../ports/cluster.js'
import type { KubernetesApi } from './api.js'
import { follow, unlessAborted } from './deadline.js'
import { answerError } from './errors.js'
import { lines } from './lines.js'
import { NodeCacheContent, readSlimNode, type SlimNode } from './node-cache-content.js'
import { list, METADATA } from './objects.js'

const PATH = '/api/v1/nodes'
/**
 * The server ends each watch by itself and sends a bookmark two seconds before, whatever interval it has for others (a
 * minute, mostly): so a watch that lives is never taken for a dead one, and a quiet cluster is not listed all the time.
 */
const SERVER_ENDS_AFTER_SECONDS = '50'
const SILENCE_MS = 60_000
/** A cluster that nobody asks about for so long is not watched any more: all its kubelets' reports pass through a watch. */
const IDLE_MS = 300_000
const BEAT_MS = 2_000
/** A process that was frozen finds old events in its buffers and would take them for today's. */
const HELD_UP_MS = 10_000
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 10_000
const GOOD_AFTER_MS = 5_000

const EVENT = z.object({
  type: z.string(),
  object: z.object({ metadata: METADATA.pick({ resourceVersion: true }).nullish() }),
})

/**
 * All nodes of one cluster, kept up to date by one watch while somebody asks. Shown only while the server has told of
 * anything within the last minute; else listed again, and when that fails, it fails.
 */
export class NodeCache {
  readonly #api: KubernetesApi
  readonly #content = new NodeCacheContent()
  readonly #listeners = new Set<() => void>()
  #currentAtMs = Number.NEGATIVE_INFINITY
  #usedAtMs = Number.NEGATIVE_INFINITY
  #beatAtMs = Number.NEGATIVE_INFINITY
  #refreshing: Promise<NodeRecord[]> | null = null
  #watching: AbortController | null = null
  /** The present connection of the watch. */
  #line: AbortController | null = null

  constructor(api: KubernetesApi) {
    this.#api = api
  }

  /** As of at most `RECENT_SECONDS` ago, and never older than what was read or written through this cache before. */
  async recent(signal: AbortSignal): Promise<NodeRecord[]> {
    signal.throwIfAborted()
    this.#keepWatching()
    if (this.#isFresh()) return this.#content.records()
    return await unlessAborted(this.#refresh(), signal)
  }

  /** From the server itself; what was there before the call is in it. */
  async now(signal: AbortSignal): Promise<NodeRecord[]> {
    const before = this.#content.position
    const askedAtMs = performance.now()
    const call = { doing: 'list the nodes', path: PATH }
    const { items, resourceVersion } = await list(this.#api, call, readSlimNode, signal)
    this.#content.listed(items, resourceVersion, before)
    this.#currentAtMs = Math.max(this.#currentAtMs, askedAtMs)
    return items.map((node) => this.#content.record(node))
  }

  /** Calls after what `recent` gives may have changed. */
  onChange(listener: () => void): Watching {
    // An object of its own: the same function may be given twice.
    const called = () => listener()
    this.#listeners.add(called)
    this.#keepWatching()
    return { close: () => this.#listeners.delete(called) }
  }

  /** A node that was read by itself, as our record: what was seen once is never unseen. */
  async seen(node: SlimNode, signal: AbortSignal): Promise<NodeRecord> {
    // A boot id means something only next to the others: without a list there would be no telling.
    if (!this.#content.knowsBootIds) await this.now(signal)
    this.#content.seen(node)
    return this.#content.record(node)
  }

  /** What is known of a node; to be handed to `missing` if the server then says that there is none. */
  known(name: string): NodeRecord | null {
    return this.#content.kept(name)
  }

  missing(name: string, before: NodeRecord | null): void {
    this.#content.missing(name, before)
  }

  /** Ends the watch. It begins again when somebody asks. */
  close(): void {
    this.#watching?.abort()
    this.#watching = null
    this.#content.clear()
  }

  #isFresh(): boolean {
    const now = performance.now()
    if (this.#content.position === null || now - this.#beatAtMs > HELD_UP_MS) return false
    return now - this.#currentAtMs < RECENT_SECONDS * 1000
  }

  /** One list for all who wait for one. It ends by itself within the deadlines of its pages. */
  #refresh(): Promise<NodeRecord[]> {
    this.#refreshing ??= this.now(new AbortController().signal)
      // What was read or written by itself meanwhile may be further on than the list.
      .then((listed) => (this.#content.position === null ? listed : this.#content.records()))
      .finally(() => {
        this.#refreshing = null
      })
    return this.#refreshing
  }

  #keepWatching(): void {
    this.#usedAtMs = performance.now()
    if (this.#watching !== null) return
    const watching = new AbortController()
    this.#watching = watching
    this.#beatAtMs = performance.now()
    // Nobody has told of anything since whatever list there was: the first question is one for the server.
    this.#currentAtMs = Number.NEGATIVE_INFINITY
    const beat = setInterval(() => this.#beat(), BEAT_MS).unref()
    void this.#watch(watching.signal).finally(() => clearInterval(beat))
  }

  #beat(): void {
    const now = performance.now()
    if (this.#listeners.size > 0) this.#usedAtMs = now
    if (now - this.#usedAtMs > IDLE_MS) this.close()
    if (now - this.#beatAtMs > HELD_UP_MS) this.#line?.abort()
    this.#beatAtMs = now
  }

  async #watch(signal: AbortSignal): Promise<void> {
    let failures = 0
    while (!signal.aborted) {
      const beganMs = performance.now()
      const ended = await this.#connection(signal).catch(() => 'failed' as const)
      const wasGood = performance.now() - beganMs > GOOD_AFTER_MS
      if (wasGood) failures = 0
      if (ended === 'cannotBe') return
      if (wasGood && ended === 'byServer') continue
      const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures) * (0.5 + Math.random() / 2)
      failures++
      await wait(pauseMs, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  async #connection(signal: AbortSignal): Promise<'byServer' | 'cannotBe'> {
    const connection = new AbortController()
    this.#line = connection
    const letGo = follow(signal, connection)
    const silence = setTimeout(() => connection.abort(), SILENCE_MS)
    try {
      if (this.#content.position === null) {
        await unlessAborted(this.#refresh(), connection.signal)
        this.#tell()
      }
      const { position } = this.#content
      // A server whose versions cannot be compared: whoever asks gets a list of his own.
      if (position === null) return 'cannotBe'
      for await (const some of lines(await this.#open(position, connection.signal))) {
        silence.refresh()
        try {
          for (const line of some) this.#happened(line)
        } finally {
          this.#tell()
        }
      }
      return 'byServer'
    } finally {
      clearTimeout(silence)
      letGo()
      connection.abort()
    }
  }

  async #open(position: number, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const query = {
      watch: 'true',
      resourceVersion: String(position),
      allowWatchBookmarks: 'true',
      timeoutSeconds: SERVER_ENDS_AFTER_SECONDS,
    }
    const doing = 'watch all nodes'
    const answer = await this.#api.stream({ doing, method: 'GET', path: PATH, query }, signal)
    if (!('code' in answer)) return answer.body
    if (answer.code === 410) this.#content.forget()
    throw answerError(answer, doing)
  }

  #happened(line: string): void {
    try {
      const event: unknown = JSON.parse(line)
      const { type, object } = EVENT.parse(event)
      if (type === 'ERROR') throw new Error('watching all nodes ended with an error event')
      const node = type === 'BOOKMARK' ? null : readSlimNode((event as { object: unknown }).object)
      const isCurrent = this.#content.happened(type, object.metadata?.resourceVersion ?? null, node)
      const now = performance.now()
      if (isCurrent && now - this.#beatAtMs <= HELD_UP_MS) this.#currentAtMs = now
    } catch (error) {
      // What happened since is not known: too old a position, mostly, or an object nobody can read.
      this.#content.forget()
      throw error
    }
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}
