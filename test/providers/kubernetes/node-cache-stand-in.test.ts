import { mkdtemp, rm } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { RECENT_SECONDS } from '../../../src/ports/cluster.js'
import { KubernetesApi } from '../../../src/providers/kubernetes/api.js'
import { kubernetesCluster } from '../../../src/providers/kubernetes/cluster.js'
import { waitUntil } from '../../support/wait.js'
import { NODES, patient } from './bed.js'
import { json, standIn, writeKubeconfig } from './stand-in.js'

afterEach(() => vi.useRealTimers())

/** From now on seconds pass only by `pass`: for our clock and our beat, not for the real parts. */
const ownTime = () =>
  vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'], now: Date.now() })

const seconds = (count: number) => vi.advanceTimersByTime(count * 1000)

describe('on a server of our own making', () => {
  const NODE = { metadata: { name: 'w-1', resourceVersion: '5' } }
  const folders: string[] = []

  afterAll(async () => {
    for (const folder of folders) await rm(folder, { recursive: true })
  })

  async function server(listVersion: string) {
    const open: ServerResponse[] = []
    const folder = await mkdtemp(join(tmpdir(), 'noderoll-node-cache-'))
    folders.push(folder)
    const made = await standIn((path, outgoing) => {
      if (!path.includes('watch=true'))
        json(outgoing, { metadata: { resourceVersion: listVersion }, items: [NODE] })
      else {
        open.push(outgoing)
        outgoing.once('close', () => open.splice(open.indexOf(outgoing), 1))
        outgoing.writeHead(200).flushHeaders()
      }
    })
    const access = await writeKubeconfig(folder, { server: made.url })
    const api = new KubernetesApi(access)
    return { made, open, api, own: kubernetesCluster(access, api) }
  }

  const bookmark = (version: string) =>
    `${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: version } } })}\n`

  it.each([
    ['a bookmark is a sign of life', '10', 2],
    ['but not one from before the list', '9', 3],
  ])('%s', async (_, version, requests) => {
    ownTime()
    const { made, open, api, own } = await server('10')
    await own.recentNodes(patient())
    await waitUntil(() => open.length > 0, { for: 'the watch' })
    const told = vi.fn()
    own.watchRecentNodes(told)
    seconds(RECENT_SECONDS - 10)

    open[0]?.write(bookmark(version))
    await waitUntil(() => told.mock.calls.length > 0, { for: 'the bookmark' })
    seconds(11)
    await own.recentNodes(patient())

    expect(made.requests).toHaveLength(requests)
    own.close()
    await api.close()
    await made.stop()
  })

  it('closing ends the connection', async () => {
    const { made, open, api, own } = await server('10')
    await own.recentNodes(patient())
    await waitUntil(() => open.length > 0, { for: 'the watch' })

    own.close()

    await waitUntil(() => open.length === 0, { for: 'the watch to end' })
    await api.close()
    await waitUntil(async () => (await made.connections()) === 0, { for: 'all connections to end' })
    expect(made.requests).toHaveLength(2)
    await made.stop()
  })

  it('versions that are no numbers are never compared: every question is a list', async () => {
    const { made, api, own } = await server('etag-7')

    expect(await own.recentNodes(patient())).toMatchObject([{ name: 'w-1' }])
    expect(await own.recentNodes(patient())).toMatchObject([{ name: 'w-1' }])

    expect(made.requests.map(({ path }) => path)).toEqual([`${NODES}?limit=500`, `${NODES}?limit=500`])
    own.close()
    await api.close()
    await made.stop()
  })
})
