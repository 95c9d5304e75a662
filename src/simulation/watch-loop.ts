import { setTimeout as sleep } from 'node:timers/promises'
import { hasStatus, type KubeApi, type KubeList, type KubeObject } from './kube-api.js'

export interface WatchHandlers<T> {
  /** Everything there is, at the start and after every gap. */
  onList(items: readonly T[]): void
  onChange(kind: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void
}

interface WatchLine<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly object: T & { readonly code?: number }
}

/** Longer than a server lets a watch be without a bookmark (about a minute): the connection is dead. */
const SILENCE_MS = 90_000
const SHORTEST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 2_000

/** Lists, then watches, and starts again for as long as `signal` lets it, however long the API server is away. */
export async function watchLoop<T extends KubeObject>(
  api: KubeApi,
  path: string,
  query: Readonly<Record<string, string>>,
  handlers: WatchHandlers<T>,
  signal: AbortSignal,
): Promise<void> {
  let version: string | null = null
  let pause = SHORTEST_PAUSE_MS
  while (!signal.aborted) {
    try {
      if (version === null) {
        const list = await api.get<KubeList<T>>(`${path}?${new URLSearchParams(query)}`)
        handlers.onList(list.items)
        version = list.metadata.resourceVersion
      }
      const openedAt = performance.now()
      version = await watchOnce(api, path, query, version, handlers, signal)
      if (performance.now() - openedAt < LONGEST_PAUSE_MS) throw new Error('the watch ended at once')
      pause = SHORTEST_PAUSE_MS
    } catch (error) {
      if (signal.aborted) return
      // Too old a version, or one of a server that has lost its memory: only a list helps.
      if (hasStatus(error, 410, 400, 500)) version = null
      await sleep(pause, undefined, { signal }).catch(() => undefined)
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS)
    }
  }
}

/** One connection until it ends; the version to go on from, null when only a list helps. */
async function watchOnce<T extends KubeObject>(
  api: KubeApi,
  path: string,
  query: Readonly<Record<string, string>>,
  from: string,
  handlers: WatchHandlers<T>,
  signal: AbortSignal,
): Promise<string | null> {
  const ended = new AbortController()
  const end = () => ended.abort()
  const silence = setTimeout(end, SILENCE_MS)
  signal.addEventListener('abort', end)
  if (signal.aborted) end()
  let version = from
  try {
    const parameters = { ...query, watch: 'true', allowWatchBookmarks: 'true', resourceVersion: from }
    for await (const line of linesOf(api.watch(`${path}?${new URLSearchParams(parameters)}`, ended.signal))) {
      silence.refresh()
      const { type, object } = JSON.parse(line) as WatchLine<T>
      if (type === 'ERROR') return null
      version = object.metadata.resourceVersion
      if (type !== 'BOOKMARK') handlers.onChange(type, object)
    }
    return version
  } catch (error) {
    // A connection that broke is gone on from where it was; a watch that never began is the caller's to judge.
    if (version === from) throw error
    return version
  } finally {
    clearTimeout(silence)
    signal.removeEventListener('abort', end)
  }
}

async function* linesOf(body: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = parts.pop() ?? ''
    for (const part of parts) if (part !== '') yield part
  }
}
