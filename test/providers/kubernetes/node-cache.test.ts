import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { NodeRecord } from '../../../src/core/model.js'
import { RECENT_SECONDS } from '../../../src/ports/cluster.js'
import type { KubernetesCluster } from '../../../src/providers/kubernetes/cluster.js'
import { answer, blackHole, type ProxiedRequest, pass } from '../../support/proxy.js'
import { waitUntil } from '../../support/wait.js'
import { addNode, addSettledNode, Bed, NODES, patchNow, patient, portError } from './bed.js'

let bed: Bed
let cluster: KubernetesCluster

beforeAll(async () => {
  bed = await Bed.start()
})

beforeEach(async () => {
  await bed.clean()
  await addSettledNode(bed.admin, 'w-1')
  await addSettledNode(bed.admin, 'w-2')
  cluster = (await bed.open()).cluster
})

afterEach(() => {
  vi.useRealTimers()
  cluster.close()
})

afterAll(async () => {
  await bed?.stop()
})

const isWatch = ({ path }: Pick<ProxiedRequest, 'path'>) => path.includes('watch=true')
const isList = ({ path }: Pick<ProxiedRequest, 'path'>) => path.startsWith(`${NODES}?`) && !isWatch({ path })
const lists = () => bed.proxy.requests.filter(isList).length
const watches = () => bed.proxy.requests.filter(isWatch)

/** Read once, and the watch stands. */
async function watched(): Promise<void> {
  await cluster.recentNodes(patient())
  await waitUntil(() => watches().length > 0, { for: 'the watch' })
}

async function label(name: string, value: string): Promise<void> {
  await bed.admin.ok('PATCH', `${NODES}/${name}`, { metadata: { labels: { changed: value } } })
}

async function labelShown(name: string): Promise<string | undefined> {
  const nodes = await cluster.recentNodes(patient())
  return nodes.find((node) => node.name === name)?.labels.changed
}

async function untilShown(name: string, value: string): Promise<void> {
  await waitUntil(async () => (await labelShown(name)) === value, { for: `${name} as ${value}` })
}

/** From now on seconds pass only by `pass`: for our clock and our beat, not for the real parts. */
const ownTime = () =>
  vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'], now: Date.now() })

const seconds = (count: number) => vi.advanceTimersByTime(count * 1000)

describe('the nodes of late', () => {
  it('are listed once; after that the watch tells, at once', async () => {
    await watched()
    const began = performance.now()

    await label('w-1', 'x')
    await untilShown('w-1', 'x')

    // Before it would be listed anew.
    expect(performance.now() - began).toBeLessThan((RECENT_SECONDS * 1000) / 2)
    expect(lists()).toBe(1)
    expect(watches()).toHaveLength(1)
  })

  it('are the same records as a list gives, nodes that join and leave included', async () => {
    await watched()
    await addNode(bed.admin, 'w-3')
    await bed.admin.ok('DELETE', `${NODES}/w-1`)

    const recent = await waitUntil(
      async () => {
        const found = await cluster.recentNodes(patient())
        return found.map(({ name }) => name).join() === 'w-2,w-3' && found
      },
      { for: 'w-3 without w-1' },
    )

    const same = async () => {
      const [ours, listed] = [await cluster.recentNodes(patient()), await listedElsewhere()]
      return JSON.stringify(byName(ours)) === JSON.stringify(listed)
    }
    await waitUntil(same, { for: 'the same records' })
    expect(recent).toHaveLength(2)
    expect(lists()).toBe(1)
  })

  it('are one list for all who ask at the same time', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => cluster.recentNodes(patient())))

    expect(answers.map((nodes) => nodes.length)).toEqual([2, 2, 2])
    expect(lists()).toBe(1)
  })

  it('are asked for when nobody has watched until now, however young the last list is', async () => {
    await cluster.nodes(patient())
    await bed.admin.ok('DELETE', `${NODES}/w-1`)

    expect(await cluster.recentNodes(patient())).toMatchObject([{ name: 'w-2' }])
  })

  it('wake who waits for them, after they have changed', async () => {
    await watched()
    const shown: Promise<string | undefined>[] = []
    const watching = cluster.watchRecentNodes(() => shown.push(labelShown('w-1')))

    await label('w-1', 'x')
    await waitUntil(() => shown.length > 0, { for: 'the word' })
    watching.close()

    expect(await shown[0]).toBe('x')
  })
})

const byName = (nodes: readonly NodeRecord[]) => [...nodes].sort((a, b) => (a.name < b.name ? -1 : 1))
const listedElsewhere = async () => (await bed.open({})).cluster.nodes(patient())

describe('what was written or read here is in them, however late the watch is', () => {
  it('a write', async () => {
    bed.proxy.on(isWatch, blackHole())
    await watched()

    await patchNow(cluster, 'w-1', { unschedulable: true })

    expect(await cluster.recentNodes(patient())).toMatchObject([
      { unschedulable: true },
      { unschedulable: false },
    ])
    expect(lists()).toBe(1)
  })

  it('a write while the list was on its way', async () => {
    const other = (await bed.open({})).cluster
    let arrived: () => void = () => undefined
    const written = new Promise<void>((resolve) => {
      arrived = resolve
    })
    bed.proxy.on(isWatch, blackHole())
    // The boot ids are known, so that the write does not need a list of its own.
    await cluster.nodes(patient())
    cluster.close()
    const held = bed.proxy.on(isList, pass({ onResponse: () => written }), { times: 1 })
    const recent = cluster.recentNodes(patient())
    await held.hit

    await patchNow(cluster, 'w-1', { unschedulable: true })
    arrived()

    expect(await recent).toMatchObject([{ unschedulable: true }, { unschedulable: false }])
    expect(await other.nodes(patient())).toMatchObject([{ unschedulable: true }, { unschedulable: false }])
  })

  it('a node that was read, and one that was found to be gone', async () => {
    bed.proxy.on(isWatch, blackHole())
    await watched()
    await label('w-1', 'x')
    await bed.admin.ok('DELETE', `${NODES}/w-2`)

    await cluster.node('w-1', patient())
    await cluster.node('w-2', patient())

    expect(await cluster.recentNodes(patient())).toMatchObject([{ name: 'w-1', labels: { changed: 'x' } }])
    expect(lists()).toBe(1)
  })

  it('a list for somebody else', async () => {
    bed.proxy.on(isWatch, blackHole())
    await watched()
    await label('w-1', 'x')

    await cluster.nodes(patient())

    expect(await labelShown('w-1')).toBe('x')
    expect(lists()).toBe(2)
  })
})

describe('the watch goes on', () => {
  it('from where it was after the connection is cut, without another list', async () => {
    await watched()
    await bed.proxy.down()
    await label('w-1', 'x')

    await bed.proxy.up()

    await untilShown('w-1', 'x')
    expect(lists()).toBe(1)
  })

  const EXPIRED = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' }

  it.each([
    ['its position is too old, as the answer', 410, JSON.stringify(EXPIRED)],
    ['its position is too old, as an event', 200, `${JSON.stringify({ type: 'ERROR', object: EXPIRED })}\n`],
    ['an event cannot be read', 200, '{"type":"MODIFIED","object":{"metadata":{"name":7}}}\n'],
    ['something in between talks', 200, '<html>\n'],
  ])('from a new list when %s', async (_, code, body) => {
    const rule = bed.proxy.on(isWatch, answer(code, body), { times: 1 })
    await cluster.recentNodes(patient())
    await rule.hit
    await waitUntil(() => watches().length > 1, { for: 'another watch' })

    await label('w-1', 'x')
    await untilShown('w-1', 'x')

    expect(lists()).toBe(2)
  })

  it('B35 after it has died silently', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    await watched()
    await label('w-1', 'x')
    await untilShown('w-1', 'x')
    bed.proxy.freeze()
    await label('w-1', 'y')

    vi.advanceTimersByTime(61_000)
    await waitUntil(() => watches().length > 1, { for: 'another watch' })

    bed.proxy.thaw()
    await untilShown('w-1', 'y')
    expect(lists()).toBe(1)
  })

  it('and is asked for so that it is never silent for a minute', async () => {
    await watched()

    const query = new URL(watches()[0]?.path ?? '', bed.proxy.url).searchParams
    expect(Object.fromEntries(query)).toMatchObject({ timeoutSeconds: '50', allowWatchBookmarks: 'true' })
  })
})

describe(`no node is shown as it was more than ${RECENT_SECONDS} s ago`, () => {
  it('B35 when the watch says nothing they are listed again', async () => {
    ownTime()
    bed.proxy.on(isWatch, blackHole())
    await watched()
    await label('w-1', 'x')

    seconds(RECENT_SECONDS - 1)
    expect(await labelShown('w-1')).toBeUndefined()
    seconds(1)

    expect(await labelShown('w-1')).toBe('x')
    expect(lists()).toBe(2)
  })

  it('B35 and when that fails, it fails: what is not known is not what was known', async () => {
    ownTime()
    await watched()
    await bed.proxy.down()
    seconds(RECENT_SECONDS)

    await expect(cluster.recentNodes(patient())).rejects.toEqual(portError('unreachable', /list the nodes/))
  })

  it('B35 who gives up waiting for a list does not end it for the others', async () => {
    let release: () => void = () => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const held = bed.proxy.on(isList, pass({ onResponse: () => released }), { times: 1 })
    const impatient = new AbortController()
    const [one, other] = [cluster.recentNodes(impatient.signal), cluster.recentNodes(patient())]
    await held.hit

    impatient.abort(new Error('given up'))

    await expect(one).rejects.toThrow('given up')
    release()
    expect(await other).toHaveLength(2)
  })

  it('a process that was held up asks again before it trusts what came meanwhile', async () => {
    vi.useFakeTimers({ toFake: ['performance'], now: Date.now() })
    await watched()
    seconds(11)

    await cluster.recentNodes(patient())

    expect(lists()).toBe(2)
  })

  it('a cluster nobody asks about is not watched any more', async () => {
    ownTime()
    await watched()

    // A beat after the other: a jump would look as if the process had been frozen.
    seconds(302)

    const count = watches().length
    await label('w-1', 'x')
    expect(await labelShown('w-1')).toBe('x')
    expect(lists()).toBe(2)
    await waitUntil(() => watches().length > count, { for: 'the watch to begin again' })
  })
})
