import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Progress } from '../../src/core/progress.js'
import { secondsOf } from '../support/batch-history.js'
import { expectAsFound, found, isCordoned, nodeWrites, untilReadiness } from '../support/batch-nodes.js'
import { addBudget, runWorkload } from '../support/batch-pods.js'
import { marksOf, RolloutBed } from '../support/rollout-bed.js'
import { waitUntil } from '../support/wait.js'

describe('the time limit of a batch', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
    bed.keepsWorker = true
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  const TO_LARGE = { pools: { worker: { offering: 'large' } } }

  it('CKS-19 refuses a spec whose drain timeout and reserve exceed the limit of a batch, and writes nothing', async () => {
    await bed.startCluster({ workers: 1 })
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll({
      ...TO_LARGE,
      drain: { timeout: '50s' },
      changeReserve: '15s',
      batchTimeout: '60s',
    })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'InvalidSpec',
      message: expect.stringContaining(
        'batchTimeout: 60 s is less than drain.timeout (50 s) and changeReserve (15 s) together; write at least 65s',
      ),
    })
    await bed.kube.audit.settled()
    expect(await bed.kube.audit.writes(position, 'noderoll')).toEqual([])
  })

  it('CKS-19, K1 stops no machine with less than the reserve left: nodes as found', async () => {
    await bed.startCluster({ workers: 2 })
    const before = await found(bed)
    bed.cluster.kubelets.script('w-2', { neverReady: true })
    await untilReadiness(bed, 'w-2', false)
    await bed.startWorker()
    const handle = await bed.start(
      bed.spec({ ...TO_LARGE, batchTimeout: '20s', changeReserve: '16s', drain: { timeout: '3s' } }),
    )
    // By the time that progress tells of the wait, preflight has used up more than 4 s of the 20.
    await waitUntil(async () => (await handle.query<Progress>('progress')).waitsFor.length > 0, {
      for: 'a long preflight',
    })

    bed.cluster.kubelets.script('w-2', { neverReady: false })
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'BatchTimedOut',
      message: expect.stringMatching(
        /w-1 was not stopped: less than 16 s of the batch's 20 s were left.*as found/,
      ),
      result: { failed: [{ node: 'w-1' }], state: 'Running' },
    })
    expect(bed.acts(false)).toEqual([])
    await expectAsFound(bed, before)
  })

  it('CKS-19, K1 puts the node back when the limit passes while no worker is there', async () => {
    await bed.startCluster({ workers: 1 })
    await runWorkload(bed.kube.api, 'Deployment', 'held', { on: 'w-1' })
    await addBudget(bed.kube.api, 'held', 1)
    const before = await found(bed)
    await bed.startWorker()
    const handle = await bed.start(
      bed.spec({ ...TO_LARGE, batchTimeout: '6s', changeReserve: '1s', drain: { timeout: '5s' } }),
    )
    await waitUntil(async () => isCordoned(await bed.node('w-1')), { for: 'the cordon' })

    await bed.stopWorker()
    await waitUntil(
      async () => (await handle.fetchHistory()).events?.some((event) => event.timerFiredEventAttributes),
      { for: 'the limit to pass' },
    )
    await bed.startWorker()
    const end = await bed.endOf(handle)

    // The drain's own 5 s are over as well.
    expect(end).toMatchObject({
      kind: 'failed',
      type: expect.stringMatching(/^(BatchTimedOut|DrainBlocked)$/),
      result: { failed: [{ node: 'w-1', step: 'drain' }], state: 'Running' },
    })
    expect(bed.acts(false)).toEqual([])
    await expectAsFound(bed, before)
  })

  it('CKS-19, K1 ends a drain at the limit of the batch', async () => {
    await bed.startCluster({ workers: 2 })
    await runWorkload(bed.kube.api, 'Deployment', 'held', { on: 'w-1' })
    await addBudget(bed.kube.api, 'held', 1)
    const before = await found(bed)
    const position = await bed.kube.audit.mark()
    bed.cluster.kubelets.script('w-2', { neverReady: true })
    await untilReadiness(bed, 'w-2', false)
    await bed.startWorker()
    const handle = await bed.start(
      bed.spec({ ...TO_LARGE, batchTimeout: '13s', changeReserve: '1s', drain: { timeout: '12s' } }),
    )
    await waitUntil(async () => (await handle.query<Progress>('progress')).waitsFor.length > 0, {
      for: 'a long preflight',
    })
    bed.cluster.kubelets.script('w-2', { neverReady: false })

    const end = await bed.endOf(handle)

    // Preflight took more than 5 of the batch's 13 s, which leaves the drain less than 8 of its 12. The batch's clock may
    // be first, or the drain's, which was set to the same moment.
    expect(end).toMatchObject({
      kind: 'failed',
      message: expect.stringMatching(
        /drain of w-1 did not end in [1-8] s: |w-1 was not drained within the batch's 13 s/,
      ),
      result: { failed: [{ node: 'w-1', step: 'drain' }], state: 'Running' },
    })
    expect(await secondsOf(handle, 'drainNode')).toBeLessThan(10)
    expect(bed.acts(false)).toEqual([])
    expect(await nodeWrites(bed, position, 'w-2')).toEqual([])
    await expectAsFound(bed, before)
  })

  it('CKS-19, K3 finishes a change that outlasts the limit, gives the node back, and only the result is failed', async () => {
    await bed.startCluster({ workers: 2, delays: { startMs: 7_000 } })
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll({
      ...TO_LARGE,
      batchTimeout: '6s',
      changeReserve: '1s',
      drain: { timeout: '2s' },
    })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'BatchTimedOut',
      message: expect.stringMatching(
        /w-1 is done and verified, but the batch took longer than its 6 s; its machine runs with the new settings/,
      ),
      result: { done: { names: ['w-1'] }, state: 'Running', pools: [{ outOfDate: 1 }] },
    })
    expect(bed.cluster.cloud.machine('w-1')).toMatchObject({ power: 'running', offering: 'large' })
    expect(isCordoned(await bed.node('w-1'))).toBe(false)
    expect(marksOf(await bed.node('w-1'))).toEqual([])
    expect(await nodeWrites(bed, position, 'w-2')).toEqual([])
  })

  it('CKS-19, K2 falls back to the old size after the limit has passed, too', async () => {
    await bed.startCluster({ workers: 2, delays: { stopMs: 6_500 } })
    bed.cluster.cloud.faults.add({
      call: 'start',
      offering: 'large',
      effect: { kind: 'capacity' },
      count: null,
    })
    await bed.startWorker()

    const end = await bed.roll({
      ...TO_LARGE,
      batchTimeout: '6s',
      changeReserve: '1s',
      drain: { timeout: '2s' },
    })

    expect(end).toMatchObject({ kind: 'failed', type: 'CapacityUnavailable', result: { state: 'Running' } })
    expect(bed.cluster.cloud.machine('w-1')).toMatchObject({ power: 'running', offering: 'small' })
    expect(isCordoned(await bed.node('w-1'))).toBe(false)
    expect(marksOf(await bed.node('w-1'))).toEqual([])
  })
})
