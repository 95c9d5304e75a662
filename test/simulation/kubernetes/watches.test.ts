import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { KubeObject } from '../../support/kube-api.js'
import { waitUntil } from '../../support/wait.js'
import { type ClusterUnderTest, onBoth } from './conformance.js'

const MAPS = '/api/v1/NS/configmaps'

interface Event {
  readonly type: string
  readonly object: KubeObject
}

/** What one watch has been told. */
class Watched {
  readonly events: Event[] = []
  ended: string | null = null
  readonly #controller = new AbortController()
  readonly #running: Promise<void>

  constructor(cluster: ClusterUnderTest, path: string) {
    this.#running = this.#follow(cluster, cluster.path(path))
  }

  async #follow(cluster: ClusterUnderTest, path: string): Promise<void> {
    try {
      for await (const event of cluster.api.watch(path, this.#controller.signal)) this.events.push(event)
      this.ended = 'by the server'
    } catch (error) {
      this.ended = String(error)
    }
  }

  /** `ADDED m-a` */
  get told(): string[] {
    return this.events.map(({ type, object }) => `${type} ${object.metadata.name}`)
  }

  async until(count: number): Promise<string[]> {
    await waitUntil(() => this.events.length >= count, { for: `${count} events`, timeoutMs: 20_000 })
    return this.told
  }

  async close(): Promise<void> {
    this.#controller.abort()
    await this.#running
  }
}

onBoth('watches', (cluster) => {
  const opened: Watched[] = []

  beforeEach(async () => {
    await cluster().ok('DELETE', `${MAPS}?labelSelector=ours`)
    await untilCached(await make('m-a'))
  })

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((watched) => watched.close()))
  })

  const make = (name: string, labels: object = {}) =>
    cluster().ok('POST', MAPS, { metadata: { name, labels: { ours: '1', ...labels } } })

  /** Whoever begins without a version is told from a cache, which may not have it yet. */
  const untilCached = async ({ metadata }: KubeObject) => {
    await cluster().list(`${MAPS}?resourceVersion=${metadata.resourceVersion}`)
  }

  const label = (name: string, labels: object) =>
    cluster().ok('PATCH', `${MAPS}/${name}`, { metadata: { labels } })

  const version = async () => {
    const { metadata } = await cluster().get(`${MAPS}?limit=1`)
    return metadata.resourceVersion ?? ''
  }

  const watch = (query: string) => {
    const watched = new Watched(cluster(), `${MAPS}?${query}`)
    opened.push(watched)
    return watched
  }

  it('from a version tell of everything after it, in order', async () => {
    const from = await version()
    await make('m-b')
    const watched = watch(`resourceVersion=${from}&labelSelector=ours`)
    await watched.until(1)

    await label('m-b', { x: '1' })
    await cluster().ok('DELETE', `${MAPS}/m-b`)

    expect(await watched.until(3)).toEqual(['ADDED m-b', 'MODIFIED m-b', 'DELETED m-b'])
    const versions = watched.events.map(({ object }) => Number(object.metadata.resourceVersion))
    expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b))
    expect(Number(from)).toBeLessThan(versions[0] ?? 0)
    expect(watched.events[0]?.object).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' })
  })

  it('from no version begin with what there is', async () => {
    await untilCached(await make('m-b'))
    const watched = watch('labelSelector=ours')

    expect((await watched.until(2)).sort()).toEqual(['ADDED m-a', 'ADDED m-b'])
  })

  it('show an object as new when it begins to match, and as gone when it ceases to', async () => {
    const watched = watch(`resourceVersion=${await version()}&labelSelector=x%3D1`)
    await label('m-a', { x: '1' })
    await label('m-a', { x: '1', y: '1' })
    await label('m-a', { x: '2' })
    await label('m-a', { x: '3' })
    await cluster().ok('DELETE', `${MAPS}/m-a`)
    await make('m-z', { x: '1' })

    expect(await watched.until(4)).toEqual(['ADDED m-a', 'MODIFIED m-a', 'DELETED m-a', 'ADDED m-z'])
    // As it last was when it matched, at the version at which it ceased to.
    expect(watched.events[2]?.object.metadata.labels).toMatchObject({ x: '1', y: '1' })
    expect(Number(watched.events[2]?.object.metadata.resourceVersion)).toBeGreaterThan(
      Number(watched.events[1]?.object.metadata.resourceVersion),
    )
  })

  it('of one name tell of no other', async () => {
    const watched = watch(`resourceVersion=${await version()}&fieldSelector=metadata.name%3Dm-b`)
    await label('m-a', { x: '1' })
    await make('m-b')

    expect(await watched.until(1)).toEqual(['ADDED m-b'])
  })

  it('end by themselves when their time is up', async () => {
    const began = performance.now()
    const watched = watch(`resourceVersion=${await version()}&timeoutSeconds=1`)

    await waitUntil(() => watched.ended !== null, { for: 'the end', timeoutMs: 20_000 })

    expect(watched.ended).toBe('by the server')
    expect(performance.now() - began).toBeGreaterThan(900)
    expect(watched.events).toEqual([])
  })

  it('give a bookmark before their time is up, past what they did not tell', async () => {
    const from = await version()
    const query = 'labelSelector=x&timeoutSeconds=5&allowWatchBookmarks=true'
    const watched = watch(`${query}&resourceVersion=${from}`)
    await make('m-b')

    await waitUntil(() => watched.ended !== null, { for: 'the end', timeoutMs: 20_000 })

    const last = watched.events.at(-1)
    expect(last).toMatchObject({ type: 'BOOKMARK', object: { kind: 'ConfigMap' } })
    expect(Number(last?.object.metadata.resourceVersion)).toBeGreaterThan(Number(from))
  })

  it('say where what there was ends, when asked to', async () => {
    const query = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
    const watched = watch(`${query}&resourceVersion=&labelSelector=ours`)

    expect((await watched.until(2))[0]).toBe('ADDED m-a')
    expect(watched.events[1]).toMatchObject({
      type: 'BOOKMARK',
      object: { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } },
    })
  })

  describe('in other forms', () => {
    it('give metadata alone', async () => {
      const accept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'
      const query = `watch=true&timeoutSeconds=1&labelSelector=ours&resourceVersion=0`

      const { text } = await cluster().callWith({ accept }, `${MAPS}?${query}`)

      expect(JSON.parse(text)).toMatchObject({
        type: 'ADDED',
        object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: { name: 'm-a' } },
      })
    })

    it('cannot begin at a version that is none', async () => {
      const answer = await cluster().call('GET', `${MAPS}?watch=true&resourceVersion=x`)

      expect(answer).toMatchObject({
        status: 500,
        body: { message: expect.stringMatching(/^resourceVersion: Invalid value: "x"/) },
      })
    })
  })
})
