import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Watching } from '../../../src/ports/cluster.js'
import { KubernetesApi } from '../../../src/providers/kubernetes/api.js'
import { kubernetesCluster } from '../../../src/providers/kubernetes/cluster.js'
import { answer } from '../../support/proxy.js'
import { waitUntil } from '../../support/wait.js'
import { addNode, Bed, NODES, patient } from './bed.js'
import { json, standIn, writeKubeconfig } from './stand-in.js'

let bed: Bed
let watching: Watching | undefined

beforeAll(async () => {
  bed = await Bed.start()
})

beforeEach(async () => {
  await bed.clean()
  await addNode(bed.admin, 'w-1')
})

afterEach(() => {
  watching?.close()
  watching = undefined
  vi.useRealTimers()
})

afterAll(async () => {
  await bed?.stop()
})

/** What a watcher was told, in turn: names, or `gap`. */
class Told {
  readonly words: string[] = []

  readonly hear = (names: readonly string[]) => {
    this.words.push(...(names.length === 0 ? ['gap'] : names))
  }

  async until(word: string, times = 1): Promise<void> {
    await waitUntil(() => this.words.filter((one) => one === word).length >= times, { for: word })
  }

  count(word: string): number {
    return this.words.filter((one) => one === word).length
  }
}

const isWatch = ({ path }: { path: string }) => path.includes('watch=true')

async function watchNodes(fieldName: string | null = null): Promise<Told> {
  const told = new Told()
  watching = (await bed.open()).cluster.watchNodes(told.hear, fieldName)
  await told.until('gap')
  await waitUntil(() => bed.proxy.requests.some(isWatch), { for: 'the watch to be asked for' })
  return told
}

async function label(name: string, value: string): Promise<void> {
  await bed.admin.ok('PATCH', `${NODES}/${name}`, { metadata: { labels: { changed: value } } })
}

describe('watching nodes', () => {
  it('tells to list first, and then each name that changes, at once', async () => {
    const told = await watchNodes()
    const began = performance.now()

    await label('w-1', 'x')
    await told.until('w-1')

    // A watch that told of nothing would be renewed after minutes.
    expect(performance.now() - began).toBeLessThan(20_000)
    await bed.admin.ok('POST', NODES, { metadata: { name: 'w-2' } })
    await told.until('w-2')
    const seen = told.count('w-2')
    await bed.admin.ok('DELETE', `${NODES}/w-2`)
    await told.until('w-2', seen + 1)
    expect(told.count('gap')).toBe(1)
  })

  it('of one name tells no other', async () => {
    await addNode(bed.admin, 'w-2')
    const told = await watchNodes('w-1')

    await label('w-2', 'x')
    await label('w-1', 'x')
    await told.until('w-1')

    expect(told.words).not.toContain('w-2')
  })

  it('asks for names only', async () => {
    await watchNodes()

    const asked = bed.proxy.requests.filter(({ path }) => path.startsWith(NODES))
    expect(asked.map(({ headers }) => headers.accept)).toEqual([
      expect.stringContaining('as=PartialObjectMetadataList'),
      expect.stringContaining('as=PartialObjectMetadata;'),
    ])
  })

  it('goes on after the connection is cut, and misses nothing', async () => {
    const told = await watchNodes()
    await bed.proxy.down()
    await label('w-1', 'x')
    await bed.admin.ok('POST', NODES, { metadata: { name: 'w-2' } })

    await bed.proxy.up()

    await told.until('w-2')
    expect(told.words).toContain('w-1')
    expect(told.count('gap')).toBe(1)
  })

  const EXPIRED = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' }

  it.each([
    ['as the answer', 410, JSON.stringify(EXPIRED)],
    ['as an event', 200, `${JSON.stringify({ type: 'ERROR', object: EXPIRED })}\n`],
  ])('tells to list again when its position is too old: %s', async (_, code, body) => {
    const rule = bed.proxy.on(isWatch, answer(code, body), { times: 1 })
    const told = await watchNodes()
    await told.until('gap', 2)

    await label('w-1', 'x')
    await told.until('w-1')

    expect(rule.hits).toHaveLength(1)
    expect(told.count('gap')).toBe(2)
  })

  it('asks less and less often when the watch ends at once', async () => {
    const rule = bed.proxy.on(isWatch, answer(200, ''))
    await watchNodes()

    await waitUntil(() => rule.hits.length >= 5, { for: 'five tries' })

    const times = rule.hits.map(({ time }) => time)
    // 50 + 100 + 200 + 400 ms at least.
    expect((times[4] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(740)
    expect(bed.proxy.requests.filter((one) => !isWatch(one))).toHaveLength(1)
  })

  it('B35 renews a watch that has died silently', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const told = await watchNodes()
    await label('w-1', 'x')
    await told.until('w-1')
    bed.proxy.freeze()
    await label('w-1', 'y')
    const watches = () => bed.proxy.requests.filter(isWatch).length
    const before = watches()

    vi.advanceTimersByTime(61_000)
    await waitUntil(() => watches() > before, { for: 'another watch' })

    bed.proxy.thaw()
    await told.until('w-1', 2)
    expect(told.count('gap')).toBe(1)
  })

  it('asks the server to end each watch before that', async () => {
    await watchNodes()

    const watch = bed.proxy.requests.find(isWatch)
    const query = new URL(watch?.path ?? '', bed.proxy.url).searchParams
    expect(Object.fromEntries(query)).toMatchObject({ timeoutSeconds: '50', allowWatchBookmarks: 'true' })
  })
})

describe('closing a watch', () => {
  it('ends its connection, and nothing is told after that', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'noderoll-watch-'))
    let isOpen = false
    const server = await standIn((path, outgoing) => {
      if (!path.includes('watch=true')) {
        json(outgoing, { metadata: { resourceVersion: '7' }, items: [] })
        return
      }
      isOpen = true
      outgoing.once('close', () => {
        isOpen = false
      })
      outgoing.writeHead(200).flushHeaders()
    })
    const access = await writeKubeconfig(folder, { server: server.url })
    const api = new KubernetesApi(access)
    const told = new Told()
    const one = kubernetesCluster(access, api).watchNodes(told.hear, null)
    await waitUntil(() => one.silentSeconds() < 60, { for: 'the watch' })
    expect(isOpen).toBe(true)

    one.close()

    await waitUntil(() => !isOpen, { for: 'the watch to end' })
    await api.close()
    await waitUntil(async () => (await server.connections()) === 0, { for: 'all connections to end' })
    expect(told.words).toEqual(['gap'])
    expect(server.requests).toHaveLength(2)
    await server.stop()
    await rm(folder, { recursive: true })
  })

  it('ends it also between two tries', async () => {
    bed.proxy.on({ path: NODES }, answer(503, 'not now'))
    const told = new Told()
    const { cluster } = await bed.open()
    const one = cluster.watchNodes(told.hear, null)
    await waitUntil(() => bed.proxy.requests.some(({ status }) => status === 503), { for: 'the first try' })

    one.close()
    await bed.proxy.reset()
    await cluster.nodes(patient())

    expect(told.words).toEqual([])
    expect(bed.proxy.requests).toHaveLength(1)
  })
})
