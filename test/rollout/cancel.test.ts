import type { WorkflowHandle } from '@temporalio/client'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { cancelSignal, pauseSignal, resumeSignal } from '../../src/api/messages.js'
import { HEARTBEAT_HELD_SECONDS } from '../../src/api/timing.js'
import type { Progress } from '../../src/core/progress.js'
import { stepsOpenAt } from '../support/batch-history.js'
import { expectAsFound, type Found, found, nodeWrites, untilReadiness } from '../support/batch-nodes.js'
import { addBudget, evictions, runWorkload } from '../support/batch-pods.js'
import { CLUSTER, marksOf, RolloutBed } from '../support/rollout-bed.js'
import { waitUntil } from '../support/wait.js'

/** A step hears of a cancel in the answer to a heartbeat, which is held back for so long at most; the rest is for the answer. */
const HEARS_OF_A_CANCEL_MS = HEARTBEAT_HELD_SECONDS * 1000 + 1_500

describe('cancel, pause and resume', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  const TO_LARGE = { pools: { worker: { offering: 'large' } } }
  const ALL_OF_W1 = ['stop w-1', 'setOffering w-1', 'start w-1']

  /** Starts a rollout, and says something to it once, while the stop of w-1 is answered. */
  async function startAndSayAtStop(
    say: (handle: WorkflowHandle) => Promise<unknown>,
  ): Promise<WorkflowHandle> {
    const unsubscribe = bed.cluster.cloud.onRequest({ call: 'stop', machine: 'w-1' }, async () => {
      unsubscribe()
      await say(bed.client.workflow.getHandle(`cluster-rollout/${CLUSTER}`))
    })
    return bed.start(bed.spec(TO_LARGE))
  }

  /** A rollout whose drain of w-1 is held by a budget for as long as it lasts. */
  async function startBlockedDrain(): Promise<{ handle: WorkflowHandle; before: Found; position: number }> {
    await runWorkload(bed.kube.api, 'Deployment', 'held', { on: 'w-1' })
    await addBudget(bed.kube.api, 'held', 1)
    const before = await found(bed)
    const position = await bed.kube.audit.mark()
    await bed.startWorker()
    const handle = await bed.start(bed.spec({ ...TO_LARGE, drain: { timeout: '45s' } }))
    await waitUntil(async () => (await evictions(bed.kube, position)).length > 0, { for: 'an eviction' })
    return { handle, before, position }
  }

  async function statusOf(handle: WorkflowHandle): Promise<string> {
    return (await handle.describe()).status.name
  }

  it('CKS-20 stops between two batches: the node at work is finished, the next one not touched', async () => {
    await bed.startCluster({ workers: 2 })
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const handle = await startAndSayAtStop((one) => one.signal(cancelSignal, { by: 'olga' }))
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({
      kind: 'completed',
      result: {
        outcome: 'cancelled',
        done: { names: ['w-1'] },
        state: 'Running',
        lastError: expect.stringMatching(/^cancelled by olga at \d{4}-/),
        pools: [{ pool: 'worker', outOfDate: 1 }],
      },
    })
    expect(bed.acts(false)).toEqual(ALL_OF_W1)
    expect(await nodeWrites(bed, position, 'w-2')).toEqual([])
    expect((await bed.nodes()).flatMap(marksOf)).toEqual([])
    expect((await bed.record())?.lastError).toMatch(/^cancelled by olga at/)
    expect(await bed.leaseHolder()).toBeNull()
  })

  it('CKS-20 takes a cancel without an argument, as the stock CLI sends it, and is idempotent', async () => {
    await bed.startCluster({ workers: 2 })
    await bed.startWorker()

    const handle = await startAndSayAtStop(async (one) => {
      await one.signal('cancel')
      await one.signal('cancel')
    })
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'cancelled' } })
    expect(bed.acts(false)).toEqual(ALL_OF_W1)
  })

  it('CKS-20 touches no node when the cancel comes while the settings are being stored; they stay stored', async () => {
    await bed.startCluster({ workers: 2 })
    const position = await bed.kube.audit.mark()
    const handle = await bed.start(bed.spec(TO_LARGE))
    await handle.signal(cancelSignal)

    await bed.startWorker()
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({
      kind: 'completed',
      result: { outcome: 'cancelled', done: { count: 0 }, state: 'Running' },
    })
    expect(await nodeWrites(bed, position)).toEqual([])
    expect(bed.acts(false)).toEqual([])
    expect(JSON.parse((await bed.record())?.pools ?? '{}')).toMatchObject({
      worker: { settings: { offerings: ['large'] } },
    })
  })

  it('CKS-20, K1 undoes a batch at once that has not acted, when told to cancel now', async () => {
    await bed.startCluster({ workers: 2 })
    const { handle, before, position } = await startBlockedDrain()

    await handle.signal(cancelSignal, { now: true, by: 'olga' })
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({
      kind: 'completed',
      result: {
        outcome: 'cancelled',
        state: 'Running',
        leftCordoned: [],
        warnings: [
          expect.stringContaining('budget default/held can never allow an eviction'),
          'w-1: put back, evicted pods stay where they are now',
        ],
      },
    })
    expect(bed.acts(false)).toEqual([])
    expect(await nodeWrites(bed, position, 'w-2')).toEqual([])
    expect(await stepsOpenAt(handle, 'undoNodes')).toEqual([])
    await expectAsFound(bed, before)
  })

  it('CKS-20, K1 cancels now while a batch waits in preflight', async () => {
    await bed.startCluster({ workers: 2 })
    bed.cluster.kubelets.script('w-2', { neverReady: true })
    await untilReadiness(bed, 'w-2', false)
    const position = await bed.kube.audit.mark()
    await bed.startWorker()
    const handle = await bed.start(bed.spec(TO_LARGE))
    await waitUntil(async () => (await handle.query<Progress>('progress')).batch?.number === 1, {
      for: 'the first batch',
    })

    await handle.signal(cancelSignal, { now: true })
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'cancelled', warnings: [] } })
    expect(bed.acts(false)).toEqual([])
    expect(await nodeWrites(bed, position)).toEqual([])
  })

  it('CKS-20, K3 finishes a batch first that has acted, also when told to cancel now', async () => {
    await bed.startCluster({ workers: 2 })
    await bed.startWorker()

    const handle = await startAndSayAtStop((one) => one.signal(cancelSignal, { now: true }))
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({
      kind: 'completed',
      result: { outcome: 'cancelled', done: { names: ['w-1'] }, state: 'Running' },
    })
    expect(bed.acts(false)).toEqual(ALL_OF_W1)
    expect((await bed.nodes()).flatMap(marksOf)).toEqual([])
  })

  it('B31, CKS-20, K1 ends Canceled after the release when it is cancelled natively; a second cancel during release changes nothing', async () => {
    await bed.startCluster({ workers: 3 })
    const { handle, before, position } = await startBlockedDrain()
    const second: string[] = []
    bed.cluster.cloud.onRequest(
      { call: 'list' },
      async () => {
        const { phase } = await handle.query<Progress>('progress')
        if (phase !== 'releasing' || second.length > 0) return
        second.push(phase)
        await handle.cancel()
      },
      'arrival',
    )

    const cancelledAt = Date.now()
    await handle.cancel()
    const end = await bed.endOf(handle)

    expect(end.kind).toBe('canceled')
    expect(await statusOf(handle)).toBe('CANCELLED')
    expect(second).toEqual(['releasing'])
    const lastEviction = Math.max(...(await evictions(bed.kube, position)).map(({ time }) => time))
    expect(lastEviction - cancelledAt).toBeLessThan(HEARS_OF_A_CANCEL_MS)
    expect(await stepsOpenAt(handle, 'undoNodes')).toEqual([])
    expect(bed.acts(false)).toEqual([])
    for (const other of ['w-2', 'w-3']) expect(await nodeWrites(bed, position, other)).toEqual([])
    await expectAsFound(bed, before)
    expect(await bed.leaseHolder()).toBeNull()
    expect(await bed.record()).toMatchObject({
      state: 'Running',
      lastError: expect.stringMatching(/^cancelled by Temporal's cancel at/),
    })
  })

  it('B31, CKS-20, K3 finishes a node that is being changed when it is cancelled natively, then ends Canceled', async () => {
    await bed.startCluster({ workers: 2 })
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const handle = await startAndSayAtStop((one) => one.cancel())
    const end = await bed.endOf(handle)

    expect(end.kind).toBe('canceled')
    expect(bed.acts(false)).toEqual(ALL_OF_W1)
    expect(bed.cluster.cloud.machine('w-1')).toMatchObject({ power: 'running', offering: 'large' })
    expect((await bed.nodes()).flatMap(marksOf)).toEqual([])
    expect(await nodeWrites(bed, position, 'w-2')).toEqual([])
    expect(await bed.leaseHolder()).toBeNull()
    expect(await bed.record()).toMatchObject({ state: 'Running' })
  })

  it.each<[string, (handle: WorkflowHandle) => Promise<unknown>]>([
    ['signal', (handle) => handle.signal(cancelSignal)],
    ['native cancel', (handle) => handle.cancel()],
  ])('CKS-20 fails rather than is cancelled when the batch fails after the %s', async (_how, cancel) => {
    await bed.startCluster({ workers: 2 })
    bed.cluster.cloud.faults.add({
      call: 'start',
      offering: 'large',
      effect: { kind: 'capacity' },
      count: null,
    })
    await bed.startWorker()

    const handle = await startAndSayAtStop(cancel)
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({ kind: 'failed', type: 'CapacityUnavailable', result: { outcome: 'failed' } })
    expect(await statusOf(handle)).toBe('FAILED')
    expect(bed.cluster.cloud.machine('w-1')).toMatchObject({ power: 'running', offering: 'small' })
  })

  it('CKS-20 pauses between two batches, keeps the Lease, and goes on when told to', async () => {
    await bed.startCluster({ workers: 2 })
    const position = await bed.kube.audit.mark()
    await bed.startWorker()
    const handle = await startAndSayAtStop((one) => one.signal(pauseSignal))
    const paused = await waitUntil(
      async () => {
        const progress = await handle.query<Progress>('progress')
        return progress.phase === 'paused' && progress
      },
      { for: 'the pause' },
    )
    const holder = await bed.leaseHolder()
    const untouched = await nodeWrites(bed, position, 'w-2')
    const actsInPause = bed.acts(false)

    await handle.signal(resumeSignal)
    const end = await bed.endOf(handle)

    // Counted off at once, and no end is told that nobody knows.
    expect(paused).toMatchObject({
      paused: true,
      done: { names: ['w-1'] },
      pools: [{ pool: 'worker', machines: 2, outOfDate: 1 }],
      expectedEnd: null,
    })
    expect(holder).toContain('/cluster-rollout/prod/')
    expect(untouched).toEqual([])
    expect(actsInPause).toEqual(ALL_OF_W1)
    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', done: { count: 2 } } })
  })

  it.each<[string, (handle: WorkflowHandle) => Promise<unknown>, object]>([
    [
      'by signal',
      (handle) => handle.signal(cancelSignal),
      { kind: 'completed', result: { outcome: 'cancelled' } },
    ],
    ['natively', (handle) => handle.cancel(), { kind: 'canceled' }],
  ])('CKS-20 can be cancelled %s while it is paused', async (_how, cancel, expected) => {
    await bed.startCluster({ workers: 2 })
    await bed.startWorker()
    const handle = await startAndSayAtStop((one) => one.signal(pauseSignal))
    await waitUntil(async () => (await handle.query<Progress>('progress')).phase === 'paused', {
      for: 'the pause',
    })

    await cancel(handle)
    const end = await bed.endOf(handle)

    expect(end).toMatchObject(expected)
    expect(bed.acts(false)).toEqual(ALL_OF_W1)
    expect(await bed.leaseHolder()).toBeNull()
    expect((await bed.record())?.state).toBe('Running')
  })
})
