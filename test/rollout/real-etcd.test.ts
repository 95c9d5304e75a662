import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { RolloutRequest } from '../../src/spec/schema.js'
import { expectAsFound, found, nodeWrites } from '../support/batch-nodes.js'
import { isLeading, leaderOf, WritingClient } from '../support/real-etcd.js'
import { marksOf, RolloutBed } from '../support/rollout-bed.js'
import { StackedControlPlane } from '../support/stacked-control-plane.js'
import { waitUntil } from '../support/wait.js'

describe('three real etcd members and three real API servers that live and die with their machines', () => {
  let kube: StackedControlPlane
  let bed: RolloutBed
  let caFile: string

  beforeAll(async () => {
    kube = await StackedControlPlane.start(3)
    caFile = join(kube.access.folder, 'ca.crt')
    await writeFile(caFile, kube.access.ca)
    bed = await RolloutBed.open(undefined, kube)
  }, 120_000)
  afterEach(() => bed.clean())
  afterAll(async () => {
    await bed.close()
    await kube.stop()
  })

  async function startCluster(workers = 1): Promise<void> {
    await bed.startCluster({ control: 3, workers })
    kube.liveOn(bed.cluster)
  }

  /** The kubeconfig names the API server of c-1 only; the others are in the spec. */
  async function spec(changes: Partial<RolloutRequest>): Promise<RolloutRequest> {
    const [first, ...others] = kube.access.urls
    return {
      ...bed.spec({ pools: { control: { offering: 'large' } }, verify: { timeout: '60s', settle: 0 } }),
      batchTimeout: '120s',
      kubernetes: { kubeconfig: await kube.kubeconfigFile('noderoll', first), endpoints: others },
      etcd: kube.etcdAccess(caFile) as RolloutRequest['etcd'],
      ...changes,
    }
  }

  async function roll(changes: Partial<RolloutRequest> = {}) {
    return bed.endOf(await bed.start(await spec(changes)))
  }

  it('CKS-08 real etcd: all are rolled, the leader last, through whichever API server is up, and no acknowledged write is lost', async () => {
    await startCluster()
    const leaderAtFirst = await leaderOf(kube)
    const ledWhenStopped: boolean[] = []
    const upWhenStopped: number[] = []
    bed.cluster.cloud.onRequest(
      { call: 'stop' },
      async ({ machine }) => {
        ledWhenStopped.push(await isLeading(kube, Number(machine?.slice(2))))
        upWhenStopped.push(kube.members.filter(({ running }) => running).length)
      },
      'arrival',
    )
    const client = new WritingClient(kube)
    await bed.startWorker()

    const end = await roll()
    const acknowledged = await client.stop()

    expect(end).toMatchObject({ kind: 'completed', result: { state: 'Running', done: { count: 3 } } })
    const stops = bed.acts().filter((act) => act.startsWith('stop '))
    expect(stops).toHaveLength(3)
    expect(stops.at(-1)).toBe(`stop ${leaderAtFirst}`)
    expect(ledWhenStopped).toEqual([false, false, false])
    expect(upWhenStopped).toEqual([3, 3, 3])
    expect(acknowledged.length).toBeGreaterThan(20)
    expect(await client.missing(acknowledged)).toEqual([])
    for (const node of await bed.nodes()) expect(marksOf(node)).toEqual([])
  }, 180_000)

  it('CKS-13 real etcd: B07 with one member down another one’s node is refused, and nothing is written', async () => {
    await startCluster()
    const before = await found(bed)
    const [, , third] = kube.members
    await bed.startWorker()
    const position = await kube.audit.mark()
    third?.pause()
    try {
      const end = await roll({ preflight: { timeout: '3s' } })

      expect(end).toMatchObject({
        kind: 'failed',
        type: 'PreflightFailed',
        message: expect.stringMatching(
          /etcd would keep 1 healthy voters of 3, needs 2 \(c-3 is unreachable\)/,
        ),
      })
    } finally {
      third?.resume()
    }
    await untilHealthy()
    expect(bed.acts(false)).toEqual([])
    expect(await nodeWrites(bed, position)).toEqual([])
    await expectAsFound(bed, before)
  }, 120_000)

  it('CKS-13 real etcd: B07 the node of the member that is down may go: it takes nothing away', async () => {
    await startCluster()
    const [, , third] = kube.members
    await bed.cluster.cloud.act('c-1', { kind: 'stop' })
    await bed.startWorker()
    await third?.kill()

    const end = await roll({ preflight: { timeout: '20s' } })

    expect(end.kind).toBe('completed')
  }, 120_000)

  it('CKS-13 real etcd: a third member that is a learner only is no voter that stays', async () => {
    await startCluster()
  }, 120_000)

  async function untilHealthy(): Promise<void> {
    await waitUntil(
      async () => (await Promise.all(kube.access.etcdUrls?.map((url) => fetch(`${url}/health`)) ?? [])).every(({ ok }) => ok),
      { for: 'all members to be healthy' },
    )
  }
})
