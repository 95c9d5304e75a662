import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { PlanReport } from '../../src/api/activities.js'
import {
  cordon,
  isCordoned,
  isReady,
  markAsLeft,
  nodeWrites,
  patchNode,
  stopMachine,
} from '../support/batch-nodes.js'
import { evictions, podsOf, runWorkload } from '../support/batch-pods.js'
import { marksOf, RolloutBed } from '../support/rollout-bed.js'
import { waitUntil } from '../support/wait.js'

describe('recovery before a rollout', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
    bed.keepsWorker = true
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  const TO_LARGE = { pools: { worker: { offering: 'large' } } }

  function startsAndStops(): string[] {
    return bed.acts().filter((act) => /^(start|stop) /.test(act))
  }

  it('CKS-11 starts stopped machines and rolls marked nodes of any pool before everything else, and drains no stopped machine', async () => {
    await bed.startCluster({ control: 3, workers: 3 })
    await runWorkload(bed.kube.api, 'Deployment', 'held', { on: 'w-2' })
    const [pod] = await podsOf(bed.kube.api, 'held')
    await stopMachine(bed, 'w-2')
    await stopMachine(bed, 'c-2')
    await markAsLeft(bed, 'w-3', { acting: true })
    const notReadyAtFirstStop: string[] = []
    const unsubscribe = bed.cluster.cloud.onRequest(
      { call: 'stop' },
      async () => {
        unsubscribe()
        const nodes = await bed.nodes()
        notReadyAtFirstStop.push(
          ...nodes.filter((node) => !isReady(node)).map(({ metadata }) => metadata.name),
        )
      },
      'arrival',
    )
    const before = await bed.kube.audit.mark()
    await bed.startWorker()

    const handle = await bed.start(
      bed.spec({ pools: { control: { offering: 'large' }, worker: { offering: 'large' } } }),
    )
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({ kind: 'completed', result: { state: 'Running', lastError: null } })
    expect(startsAndStops()).toEqual([
      ...['start c-2', 'start w-2'],
      ...['stop w-3', 'start w-3'],
      // c-1 leads and goes last.
      ...['stop c-3', 'start c-3', 'stop c-1', 'start c-1'],
      ...['stop w-1', 'start w-1'],
    ])
    expect(notReadyAtFirstStop).toEqual([])
    expect(await evictions(bed.kube, before)).toEqual([])
    expect((await podsOf(bed.kube.api, 'held')).map(({ metadata }) => metadata.uid)).toEqual([
      pod?.metadata.uid,
    ])
    expect((await handle.query<PlanReport>('plan')).startsStopped).toEqual(['c-2 (stopped)', 'w-2 (stopped)'])
    for (const node of await bed.nodes()) {
      expect(marksOf(node)).toEqual([])
      expect(isCordoned(node)).toBe(false)
    }
  })

  it('CKS-11 leaves stopped machines alone with startStopped false, and rolls the others past them', async () => {
    await bed.startCluster({ workers: 3 })
    await stopMachine(bed, 'w-2')
    const before = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll({ ...TO_LARGE, startStopped: false })

    expect(end).toMatchObject({
      kind: 'completed',
      result: {
        done: { names: ['w-1', 'w-3'] },
        skipped: [{ name: 'w-2', pool: 'worker', why: 'stopped, and startStopped is false' }],
        state: 'Alert',
        lastError: 'skipped: w-2 (stopped, and startStopped is false)',
      },
    })
    expect(bed.cluster.cloud.machine('w-2').power).toBe('stopped')
    expect(await nodeWrites(bed, before, 'w-2')).toEqual([])
  })

  it('CKS-11 starts stopped etcd members though there is no quorum', async () => {
    await bed.startCluster({ etcd: 3, workers: 1 })
    await stopMachine(bed, 'e-1')
    await stopMachine(bed, 'e-2')
    await bed.startWorker()

    const end = await bed.roll({
      pools: {
        etcd: { select: { machines: ['e-1', 'e-2', 'e-3'] }, offering: 'large' },
        worker: {},
      },
    })

    expect(end).toMatchObject({ kind: 'completed', result: { state: 'Running', lastError: null } })
    expect(startsAndStops()).toEqual(['start e-1', 'start e-2', 'stop e-3', 'start e-3'])
  })

  it('CKS-11 waits for a machine that somebody is stopping, then starts it', async () => {
    await bed.startCluster({ workers: 2 })
    const { cloud } = bed.cluster
    cloud.state.delays.stopMs = 1_500
    cloud.act('w-2', { kind: 'stop' })
    await bed.startWorker()

    const end = await bed.roll({ pools: { worker: {} } })

    expect(end).toMatchObject({ kind: 'completed', result: { state: 'Running', done: { names: ['w-2'] } } })
    expect(bed.acts()).toEqual(['start w-2'])
  })

  it('CKS-11, B14 starts a stopped machine that somebody has cordoned, and leaves it cordoned', async () => {
    await bed.startCluster({ workers: 2 })
    await cordon(bed, 'w-2')
    await stopMachine(bed, 'w-2')
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end).toMatchObject({ kind: 'completed', result: { state: 'Running' } })
    expect(startsAndStops()).toEqual(['start w-2', 'stop w-1', 'start w-1'])
    expect(isCordoned(await bed.node('w-2'))).toBe(true)
    expect(marksOf(await bed.node('w-2'))).toEqual([])
    expect(isCordoned(await bed.node('w-1'))).toBe(false)
  })

  it('CKS-11 starts a stopped machine whose Node was deleted while it was off, and rolls it once it has joined', async () => {
    await bed.startCluster({ workers: 2 })
    await stopMachine(bed, 'w-2')
    await bed.kube.api.ok('DELETE', '/api/v1/nodes/w-2')
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end).toMatchObject({ kind: 'completed', result: { state: 'Running', done: { count: 2 } } })
    expect(startsAndStops()).toEqual([
      'start w-2',
      ...['stop w-1', 'start w-1'],
      ...['stop w-2', 'start w-2'],
    ])
    expect(bed.cluster.cloud.machine('w-2').offering).toBe('large')
    expect(isReady(await bed.node('w-2'))).toBe(true)
    expect(isCordoned(await bed.node('w-2'))).toBe(false)
  })

  it('CKS-22 goes on with the stopped node first when it is asked again after a failure', async () => {
    await bed.startCluster({ workers: 3 })
    const { faults } = bed.cluster.cloud
    faults.add({ call: 'start', machine: 'w-2', effect: { kind: 'capacity' }, count: null })
    await bed.startWorker()
    const first = await bed.roll(TO_LARGE)
    expect(first).toMatchObject({ kind: 'failed', result: { done: { names: ['w-1'] }, state: 'Alert' } })
    faults.clear()
    bed.cluster.cloud.log.clear()

    const second = await bed.roll(TO_LARGE)

    expect(second).toMatchObject({
      kind: 'completed',
      result: { done: { names: ['w-2', 'w-3'] }, state: 'Running', lastError: null },
    })
    expect(startsAndStops()).toEqual(['start w-2', 'stop w-3', 'start w-3'])
    expect(bed.cluster.cloud.machine('w-2').offering).toBe('large')
    expect(marksOf(await bed.node('w-2'))).toEqual([])
    expect(isCordoned(await bed.node('w-2'))).toBe(false)
    expect(await bed.record()).not.toHaveProperty('lastError')
  })

  it('CKS-22 uncordons a node that came back by itself, without a restart', async () => {
    await bed.startCluster({ workers: 3 })
    const { cloud } = bed.cluster
    cloud.faults.add({ call: 'start', machine: 'w-1', effect: { kind: 'capacity' }, count: null })
    await bed.startWorker()
    await bed.roll(TO_LARGE)
    cloud.faults.clear()
    cloud.log.clear()
    cloud.act('w-1', { kind: 'setOffering', offering: 'large' })
    await cloud.untilMachine('w-1', 'is large', ({ offering }) => offering === 'large')
    cloud.act('w-1', { kind: 'start' })
    await waitUntil(async () => isReady(await bed.node('w-1')), { for: 'w-1 to be back' })

    const end = await bed.roll(TO_LARGE)

    expect(end).toMatchObject({ kind: 'completed', result: { state: 'Running', done: { count: 3 } } })
    expect(startsAndStops()).toEqual(['stop w-2', 'start w-2', 'stop w-3', 'start w-3'])
    expect(marksOf(await bed.node('w-1'))).toEqual([])
    expect(isCordoned(await bed.node('w-1'))).toBe(false)
  })

  it('CKS-22 gives back a node that was cordoned by a rollout that ended before it acted', async () => {
    await bed.startCluster({ workers: 2 })
    await markAsLeft(bed, 'w-2')
    await bed.startWorker()

    const end = await bed.roll({ pools: { worker: {} } })

    expect(end).toMatchObject({ kind: 'completed', result: { state: 'Running' } })
    expect(bed.acts()).toEqual([])
    expect(marksOf(await bed.node('w-2'))).toEqual([])
    expect(isCordoned(await bed.node('w-2'))).toBe(false)
  })

  it('K3 takes away what an earlier rollout had added to a node, and brings prior values back', async () => {
    await bed.startCluster({ workers: 2 })
    await markAsLeft(bed, 'w-2', {
      acting: true,
      added: { labels: { 'example.com/pause': null, 'example.com/mode': 'normal' } },
    })
    await patchNode(bed, 'w-2', {
      metadata: {
        labels: { 'example.com/pause': 'yes', 'example.com/mode': 'rolling', 'example.com/own': 'x' },
      },
    })
    await bed.startWorker()

    const end = await bed.roll({ pools: { worker: {} } })

    expect(end).toMatchObject({ kind: 'completed', result: { state: 'Running' } })
    const { metadata } = await bed.node('w-2')
    expect(metadata.labels).toMatchObject({ 'example.com/mode': 'normal', 'example.com/own': 'x' })
    expect(metadata.labels).not.toHaveProperty('example.com/pause')
    expect(marksOf(await bed.node('w-2'))).toEqual([])
  })

  it('CKS-21 skips a node whose marks cannot be read and leaves it cordoned', async () => {
    await bed.startCluster({ workers: 2 })
    await patchNode(bed, 'w-2', {
      metadata: { annotations: { 'noderoll.io/acting': 'not of this version' } },
      spec: { unschedulable: true },
    })
    const before = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end).toMatchObject({
      kind: 'completed',
      result: {
        done: { names: ['w-1'] },
        skipped: [{ name: 'w-2', why: 'its marks cannot be read (noderoll.io/acting)' }],
        state: 'Alert',
      },
    })
    expect(await nodeWrites(bed, before, 'w-2')).toEqual([])
  })
})
