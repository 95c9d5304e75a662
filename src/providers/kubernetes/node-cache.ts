import type { NodeRecord } from '../../core/model.js'
import { RECENT_SECONDS, type Watching } from '../../ports/cluster.js'
import { unlessAborted } from '../../ports/deadline.js'
import type { KubernetesApi } from './api.js'
import { NodeCacheContent, readSlimNode, type SlimNode } from './node-cache-content.js'
import { list } from './objects.js'
import { type Follower, followWatch, type LiveWatching, type WatchEvent } from './watch.js'

const PATH = '/api/v1/nodes'
/** A cluster that nobody asks about for so long is not watched any more: all its kubelets' reports pass through a watch. */
const IDLE_MS = 300_000
const BEAT_MS = 2_000
/** A process that was frozen finds old events in its buffers and would take them for today's. */
const HELD_UP_MS = 10_000

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
  #watching: LiveWatching | null = null
  #beating: NodeJS.Timeout | undefined

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
    this.#watching?.close()
    this.#watching = null
    clearInterval(this.#beating)
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
    this.#beatAtMs = performance.now()
    // Nobody has told of anything since whatever list there was: the first question is one for the server.
    this.#currentAtMs = Number.NEGATIVE_INFINITY
    this.#watching = followWatch(this.#api, { what: 'all nodes', path: PATH, query: {} }, this.#follower())
    this.#beating = setInterval(() => this.#beat(), BEAT_MS).unref()
  }

  #beat(): void {
    const now = performance.now()
    if (this.#listeners.size > 0) this.#usedAtMs = now
    if (now - this.#usedAtMs > IDLE_MS) this.close()
    if (now - this.#beatAtMs > HELD_UP_MS) this.#watching?.renew()
    this.#beatAtMs = now
  }

  #follower(): Follower {
    return {
      tellsBookmarks: true,
      begin: async (signal) => {
        if (this.#content.position === null) {
          await unlessAborted(this.#refresh(), signal)
          this.#changed()
        }
        // A server whose versions cannot be compared: whoever asks gets a list of his own.
        return this.#content.position === null ? null : String(this.#content.position)
      },
      tell: (events) => {
        try {
          for (const event of events) this.#happened(event)
        } finally {
          this.#changed()
        }
      },
      lost: () => this.#content.forget(),
    }
  }

  #happened({ type, object }: WatchEvent): void {
    const node = type === 'BOOKMARK' ? null : readSlimNode(object)
    const isCurrent = this.#content.happened(type, object.metadata?.resourceVersion ?? null, node)
    const now = performance.now()
    if (isCurrent && now - this.#beatAtMs <= HELD_UP_MS) this.#currentAtMs = now
  }

  #changed(): void {
    for (const listener of this.#listeners) listener()
  }
}
