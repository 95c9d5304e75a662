import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Progress } from '../../src/core/progress.js'
import type { RolloutRequest } from '../../src/spec/schema.js'
import { eventsOn, expectAsFound, found, isCordoned, nodeWrites } from '../support/batch-nodes.js'
import { isLeading, makeLead, RealLearner, WritingClient } from '../support/real-etcd.js'
import { marksOf, RolloutBed } from '../support/rollout-bed.js'
import { StackedControlPlane } from '../support/stacked-control-plane.js'
import { waitUntil } from '../support/wait.js'

/** Off for long enough that somebody writes meanwhile. */
const DELAYS = { stopMs: 500, startMs: 500, bootMs: 500 }

let kube: StackedControlPlane
let bed: RolloutBed

async function open(members: number, options: { stacked?: boolean } = {}): Promise<void> {
  kube = await StackedControlPlane.start(members, options)
  bed = await RolloutBed.open(undefined, kube)
}

async function close(): Promise<void> {
  await bed.close()
  await kube.stop()
}

async function cleanUp(): Promise<void> {
  await kube.mend()
  await bed.clean()
}

/** The kubeconfig names the first API server only; the others are in the spec. */
async function roll(changes: Partial<RolloutRequest> = {}, prefix = 'c-') {
  return bed.endOf(await start(changes, prefix))
}

async function start(changes: Partial<RolloutRequest>, prefix = 'c-') {
  const caFile = join(kube.access.folder, 'ca.crt')
  await writeFile(caFile, kube.access.ca)
  const [first, ...endpoints] = kube.access.urls
  return bed.start({
    ...bed.spec({ pools: { control: { offering: 'large' } }, verify: { timeout: '60s', settle: 0 } }),
    batchTimeout: '120s',
    kubernetes: { kubeconfig: await kube.kubeconfigFile('noderoll', first), endpoints },
    etcd: kube.etcdAccess(caFile, prefix),
    ...changes,
  })
}

function stops(): string[] {
  return bed.acts().filter((act) => act.startsWith('stop '))
}

/** At each stop: does the member of that machine lead, and how many members run? */
function atEachStop(): { readonly led: boolean[]; readonly running: number[] } {
  const seen = { led: [] as boolean[], running: [] as number[] }
  bed.cluster.cloud.onRequest(
    { call: 'stop' },
    async ({ machine }) => {
      seen.running.push(kube.members.filter(({ running }) => running).length)
      seen.led.push(await isLeading(kube, Number(machine?.slice(2))))
    },
    'arrival',
  )
  return seen
}

/** How many writes were acknowledged while each machine was not running; it stays so until there has been one. */
function writesWhileDown(client: WritingClient): Map<string, number> {
  const since = new Map<string, number>()
  const counts = new Map<string, number>()
  bed.cluster.cloud.machineChanges.subscribe(({ name, power }) => {
    const now = client.acknowledged.length
    const at = since.get(name)
    if (power !== 'running') since.set(name, at ?? now)
    else if (at !== undefined) counts.set(name, now - at)
  })
  bed.cluster.cloud.onRequest(
    { call: 'start' },
    async ({ machine }) => {
      const at = since.get(machine ?? '') ?? 0
      await waitUntil(() => client.acknowledged.length > at, { for: `a write without ${machine}` })
    },
    'arrival',
  )
  return counts
}

describe('three real etcd members and three real API servers that live and die with their machines', () => {
  beforeAll(() => open(3), 120_000)
  afterEach(cleanUp, 60_000)
  afterAll(close)

  async function startCluster(control = 3): Promise<void> {
    await bed.startCluster({
      control,
      workers: 1,
      delays: DELAYS,
    })
    kube.liveOn(bed.cluster)
  }

  it('CKS-08, CKS-18 real etcd: B35 all are rolled, the leader last, through whichever API server is up; no acknowledged write is lost', async () => {
    await startCluster()
    await makeLead(kube, 1)
    const seen = atEachStop()
    const client = new WritingClient(kube)
    const whileDown = writesWhileDown(client)
    await bed.startWorker()

    const end = await roll()
    const acknowledged = await client.stop()

    expect(end).toMatchObject({ kind: 'completed', result: { state: 'Running', done: { count: 3 } } })
    expect(stops()).toEqual(['stop c-2', 'stop c-3', 'stop c-1'])
    expect(seen).toEqual({ led: [false, false, false], running: [3, 3, 3] })
    expect(await eventsOn(bed, 'c-1')).toContain('LeadershipHandedOver')
    expect([...whileDown.keys()].sort()).toEqual(['c-1', 'c-2', 'c-3'])
    for (const count of whileDown.values()) expect(count).toBeGreaterThan(0)
    expect(await client.missing(acknowledged)).toEqual([])
    for (const node of await bed.nodes()) expect([isCordoned(node), marksOf(node)]).toEqual([false, []])
  }, 240_000)

  it('CKS-13 real etcd: B07 a while one member hangs no other one’s node is touched', async () => {
    await startCluster()
    await makeLead(kube, 1)
    const before = await found(bed)
    const [, , third] = kube.members
    await bed.startWorker()
    const position = await kube.audit.mark()

    third?.pause()
    const end = await roll({ preflight: { timeout: '3s' } }).finally(() => third?.resume())

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'PreflightFailed',
      message: expect.stringContaining('etcd would keep 1 healthy voters of 3, needs 2 (c-3 is unreachable)'),
    })
    expect(bed.acts(false)).toEqual([])
    expect(await nodeWrites(bed, position)).toEqual([])
    await expectAsFound(bed, before)
  }, 120_000)

  it('CKS-13 real etcd: B07 b refuses, with nothing written at all, while the Node of a healthy member is missing', async () => {
    await startCluster()
    bed.cluster.kubelets.script('c-3', { doesNotRegister: true })
    await kube.api.ok('DELETE', '/api/v1/nodes/c-3')
    await bed.startWorker()
    const position = await kube.audit.mark()

    const end = await roll()

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'SettingsRefused',
      message: expect.stringContaining('machine c-3 is running and has no Node'),
    })
    expect(bed.acts(false)).toEqual([])
    expect(await kube.audit.writes(position, 'noderoll')).toEqual([])
  }, 120_000)

  it('CKS-13 real etcd: B07 c the very node whose member is down may go, and comes back with a healthy one', async () => {
    await startCluster()
    await makeLead(kube, 1)
    for (const name of ['c-1', 'c-2']) bed.cluster.cloud.machine(name).offering = 'large'
    const [, , third] = kube.members
    await bed.startWorker()
    await third?.kill()

    const end = await roll()

    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['c-3'] } } })
    expect(third?.running).toBe(true)
  }, 120_000)

  it('CKS-13 real etcd: of four nodes one has a learner only, and two voters would be too few; once it votes, the rollout goes on', async () => {
    await startCluster(4)
    await makeLead(kube, 2)
    for (const name of ['c-2', 'c-3', 'c-4']) bed.cluster.cloud.machine(name).offering = 'large'
    const learner = await RealLearner.join(kube)
    try {
      await bed.startWorker()
      const handle = await start({
        preflight: { timeout: '120s' },
        batchTimeout: '240s',
        etcd: learner.inAccess(kube.etcdAccess(join(kube.access.folder, 'ca.crt'))),
      })
      const why = 'etcd would keep 2 healthy voters of 4, needs 3 (c-4 is a learner)'
      await waitUntil(async () => (await handle.query<Progress>('progress')).waitsFor.includes(why), {
        for: why,
        timeoutMs: 60_000,
      })
      const actsWhileWaiting = bed.acts(false)
      await learner.promote()
      const end = await bed.endOf(handle)

      expect(actsWhileWaiting).toEqual([])
      expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['c-1'] } } })
    } finally {
      await kube.mend()
      await learner.leave()
    }
  }, 300_000)
})

describe.each([
  [1, 'the only one of its type (control nodes with stacked etcd)'],
  [2, 'one of only 2 control nodes with stacked etcd'],
])('%i real etcd members and API servers', (members, why) => {
  beforeAll(() => open(members), 120_000)
  afterEach(cleanUp, 60_000)
  afterAll(close)

  it('CKS-14 real etcd: settings that would put a control node out of date are refused, and nothing is written', async () => {
    await bed.startCluster({ control: members, workers: 1 })
    kube.liveOn(bed.cluster)
    await bed.startWorker()
    const position = await kube.audit.mark()

    const end = await roll()

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'SettingsRefused',
      message: expect.stringContaining(`control cannot lose a node: it is ${why}`),
    })
    expect(bed.acts(false)).toEqual([])
    expect(await kube.audit.writes(position, 'noderoll')).toEqual([])
  }, 120_000)

  it('CKS-14 real etcd: control nodes that are out of date already are skipped and reported, the workers are rolled', async () => {
    await bed.startCluster({ control: members, workers: 1 })
    kube.liveOn(bed.cluster)
    const client = new WritingClient(kube)
    await bed.startWorker()
    await roll({ rollout: false })

    const end = await roll({ pools: { worker: { offering: 'large' } } })
    const acknowledged = await client.stop()

    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1'] } } })
    const lastError = (await bed.record())?.lastError
    for (let n = 1; n <= members; n++)
      expect(lastError).toContain(`c-${n} (control cannot lose a node: it is ${why})`)
    expect(stops()).toEqual(['stop w-1'])
    expect(acknowledged.length).toBeGreaterThan(0)
    expect(await client.missing(acknowledged)).toEqual([])
  }, 120_000)
})

describe('three real etcd members on machines of their own', () => {
  beforeAll(() => open(3, { stacked: false }), 120_000)
  afterEach(cleanUp, 60_000)
  afterAll(close)

  const POOLS = { etcd: { select: { machines: ['e-1', 'e-2', 'e-3'] }, offering: 'large' }, control: {} }

  async function startCluster(): Promise<void> {
    await bed.startCluster({ control: 2, workers: 0, etcd: 3, delays: DELAYS })
    kube.liveOn(bed.cluster, 'e-')
    await makeLead(kube, 1)
  }

  it('CKS-08, CKS-18 real etcd: are rolled one at a time, each when the one before is a healthy voter again, the leader last', async () => {
    await startCluster()
    const seen = atEachStop()
    const client = new WritingClient(kube)
    const whileDown = writesWhileDown(client)
    await bed.startWorker()

    const end = await roll({ pools: POOLS }, 'e-')
    const acknowledged = await client.stop()

    expect(end).toMatchObject({ kind: 'completed', result: { state: 'Running', done: { count: 3 } } })
    expect(stops()).toEqual(['stop e-2', 'stop e-3', 'stop e-1'])
    expect(seen).toEqual({ led: [false, false, false], running: [3, 3, 3] })
    expect([...whileDown.keys()].sort()).toEqual(['e-1', 'e-2', 'e-3'])
    for (const count of whileDown.values()) expect(count).toBeGreaterThan(0)
    expect(await client.missing(acknowledged)).toEqual([])
  }, 240_000)

  it('CKS-13 real etcd: none is stopped while another one is down', async () => {
    await startCluster()
    const [, , third] = kube.members
    await bed.startWorker()

    await third?.kill()
    const end = await roll({ pools: POOLS, preflight: { timeout: '3s' } }, 'e-')

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'PreflightFailed',
      message: expect.stringContaining('etcd would keep 1 healthy voters of 3, needs 2 (e-3 is unreachable)'),
    })
    expect(bed.acts(false)).toEqual([])
  }, 120_000)
})
