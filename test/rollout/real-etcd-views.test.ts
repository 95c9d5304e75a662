import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Progress } from '../../src/core/progress.js'
import type { RolloutRequest } from '../../src/spec/schema.js'
import { nodeWrites } from '../support/batch-nodes.js'
import { PeerNetwork } from '../support/peer-network.js'
import { makeLead, writeEntries } from '../support/real-etcd.js'
import { RolloutBed } from '../support/rollout-bed.js'
import { StackedControlPlane } from '../support/stacked-control-plane.js'
import { waitUntil } from '../support/wait.js'

let network: PeerNetwork
let kube: StackedControlPlane
let bed: RolloutBed
let caFile: string

beforeAll(async () => {
  network = new PeerNetwork()
  kube = await StackedControlPlane.start(3, { network })
  caFile = join(kube.access.folder, 'ca.crt')
  await writeFile(caFile, kube.access.ca)
  bed = await RolloutBed.open(undefined, kube)
}, 120_000)
afterEach(async () => {
  network.mend()
  await kube.mend()
  await bed.clean()
}, 60_000)
afterAll(async () => {
  await bed.close()
  await kube.stop()
  network.close()
})

async function startCluster(): Promise<void> {
  await bed.startCluster({ control: 3, workers: 1 })
  kube.liveOn(bed.cluster)
  await kube.noteAddresses()
  await makeLead(kube, 1)
  await bed.startWorker()
}

async function start(etcd: RolloutRequest['etcd']) {
  const [first, ...endpoints] = kube.access.urls
  return bed.start({
    ...bed.spec({ pools: { control: { offering: 'large' } }, verify: { timeout: '60s', settle: 0 } }),
    preflight: { timeout: '180s' },
    batchTimeout: '300s',
    kubernetes: { kubeconfig: await kube.kubeconfigFile('noderoll', first), endpoints },
    etcd,
  })
}

type Handle = Awaited<ReturnType<typeof start>>

/** What the rollout waits for, once it says something that matches. */
async function waitsFor(handle: Handle, what: RegExp): Promise<string> {
  return waitUntil(
    async () => {
      const progress = await handle.query<Progress>('progress')
      const found = progress.waitsFor.find((one) => what.test(one))
      if (found === undefined) throw new Error(`${progress.phase}, waits for ${progress.waitsFor.join(', ')}`)
      return found
    },
    { for: `the rollout to wait for ${what}`, timeoutMs: 60_000 },
  )
}

/** So many members ran at each stop. */
function runningAtStops(): number[] {
  const running: number[] = []
  bed.cluster.cloud.onRequest(
    { call: 'stop' },
    async () => {
      running.push(kube.members.filter((member) => member.running).length)
    },
    'arrival',
  )
  return running
}

describe('three real etcd members behind a network that fails', () => {
  it.each([
    [
      'its client URLs, which kubeadm’s static pods tell',
      () => ({ provider: 'etcd', apiServerCaFile: caFile }),
    ],
    [
      'its metrics URLs',
      () => ({
        provider: 'etcd-metrics',
        members: (kube.access.etcdMetricsUrls ?? []).map((url, at) => `c-${at + 1}=${url}`),
        apiServerCaFile: caFile,
      }),
    ],
    [
      'the API servers beside it, which kubeadm’s static pods tell',
      () => ({ provider: 'etcd-api-server', apiServerCaFile: caFile }),
    ],
  ])(
    'CKS-13, CKS-18 real etcd: seen through %s: while one member is cut off no other one’s node is touched, then all are rolled',
    async (_, etcd) => {
      await startCluster()
      const running = runningAtStops()
      const position = await kube.audit.mark()

      network.cutOff(3)
      const handle = await start(etcd())
      const why = await waitsFor(handle, /needs 2 \(c-3 is un(healthy|reachable)\)/)
      const written = await nodeWrites(bed, position)
      const acted = bed.acts(false)
      network.mend()
      const end = await bed.endOf(handle)

      expect(why).toMatch(/etcd would keep 1 healthy voters of 3, needs 2 \(c-3 is un(healthy|reachable)\)/)
      expect([written, acted]).toEqual([[], []])
      expect(end).toMatchObject({ kind: 'completed', result: { state: 'Running', done: { count: 3 } } })
      expect(
        bed
          .acts()
          .filter((act) => act.startsWith('stop '))
          .sort(),
      ).toEqual(['stop c-1', 'stop c-2', 'stop c-3'])
      expect(running).toEqual([3, 3, 3])
    },
    300_000,
  )

  it('CKS-13 real etcd: while one member lags behind what was written without it no other one’s node is touched; once it has caught up, the rollout goes on', async () => {
    await startCluster()
    for (const name of ['c-1', 'c-3']) bed.cluster.cloud.machine(name).offering = 'large'

    network.cutOff(3)
    await writeEntries(kube, 1, 1_500)
    const handle = await start({ provider: 'etcd', apiServerCaFile: caFile })
    const why = await waitsFor(handle, /needs 2 \(c-3 lags/)
    const acted = bed.acts(false)
    network.mend()
    const end = await bed.endOf(handle)

    expect(why).toMatch(
      /etcd would keep 1 healthy voters of 3, needs 2 \(c-3 lags 1,[5-9]\d\d entries behind\)/,
    )
    expect(acted).toEqual([])
    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['c-2'] } } })
  }, 300_000)
})
