import type { WorkflowHandle } from '@temporalio/client'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Progress } from '../../src/core/progress.js'
import { CLUSTER, marksOf, RolloutBed } from '../support/rollout-bed.js'
import { pausedRollout } from '../support/story-world.js'

const WORKFLOW_ID = `cluster-rollout/${CLUSTER}`
const LARGE = { worker: { offering: 'large' } } as const

/** An answer that does not come must fail the story, not hold it up for two minutes. */
const ANSWER_MS = 15_000

describe('messages that nobody expects, and at unusual moments', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
    bed.keepsWorker = true
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  /** Says something to the rollout, once, while the stop of w-1 is answered. */
  function sayAtStop(say: (handle: WorkflowHandle) => Promise<unknown>): void {
    const unsubscribe = bed.cluster.cloud.onRequest({ call: 'stop', machine: 'w-1' }, async () => {
      unsubscribe()
      await say(bed.client.workflow.getHandle(WORKFLOW_ID))
    })
  }

  async function setMaxUnavailable(handle: WorkflowHandle, maxUnavailable: number): Promise<unknown> {
    return bed.client.withDeadline(Date.now() + ANSWER_MS, () =>
      handle.executeUpdate('setMaxUnavailable', { args: [{ maxUnavailable }] }),
    )
  }

  it('CKS-27 signals whose input nobody can read wedge nothing: the rollout goes on to its end', async () => {
    await bed.startCluster({ workers: 2 })
    sayAtStop(async (handle) => {
      const words = [null, 7, 'x', [], {}]
      const odd = [
        { subject: 'x', why: [1] },
        { subject: 'w-1', why: [null, {}] },
        { subject: 'w-1', why: 'soon' },
        { subject: 3, why: ['x'] },
      ]
      await Promise.all([...words, ...odd].map((one) => handle.signal('waiting', one)))
      await handle.signal('waiting')
      await handle.signal('pause', 'for lunch', { until: 'one' })
      await handle.signal('resume', null)
    })
    await bed.startWorker()

    const handle = await bed.start(bed.spec({ pools: LARGE }))
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({
      kind: 'completed',
      result: { outcome: 'done', done: { names: ['w-1', 'w-2'] }, state: 'Running' },
    })
    const { events } = await handle.fetchHistory()
    expect(events?.filter((event) => event.workflowTaskFailedEventAttributes)).toEqual([])
    expect((await bed.nodes()).flatMap(marksOf)).toEqual([])
  })

  it.each<[string, unknown]>([
    ['a word', 'please'],
    ['null', null],
    ['odd fields', { by: 7, now: 'yes' }],
  ])('CKS-20 a cancel whose input is %s is a cancel between two batches', async (_what, input) => {
    await bed.startCluster({ workers: 2 })
    sayAtStop((handle) => handle.signal('cancel', input))
    await bed.startWorker()

    const end = await bed.roll({ pools: LARGE })

    expect(end).toMatchObject({
      kind: 'completed',
      result: {
        outcome: 'cancelled',
        done: { names: ['w-1'] },
        lastError: expect.stringMatching(/^cancelled by the signal cancel at /),
      },
    })
    expect(bed.acts()).toEqual(['stop w-1', 'setOffering w-1', 'start w-1'])
  })

  it('CKS-09 setMaxUnavailable is answered by a rollout that was paused before its first batch, and holds for it', async () => {
    await bed.startCluster({ workers: 4 })
    await bed.startWorker()
    const handle = await pausedRollout(bed, { pools: LARGE })

    const answered = await setMaxUnavailable(handle, 2)
    await handle.signal('resume')
    const end = await bed.endOf(handle)

    expect(answered).toEqual({ inForce: 'pool worker: 2 of 4 workers; from the next batch on' })
    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', done: { count: 4 } } })
    expect((await handle.query<Progress>('progress')).batch?.number).toBe(2)
  })

  it('CKS-09 setMaxUnavailable that comes while the next batch is being chosen holds for that very batch', async () => {
    await bed.startCluster({ workers: 4 })
    const answers: unknown[] = []
    const unsubscribe = bed.cluster.cloud.onRequest(
      { call: 'list' },
      async () => {
        const handle = bed.client.workflow.getHandle(WORKFLOW_ID)
        if ((await handle.query<Progress>('progress')).phase !== 'waiting' || answers.length > 0) return
        unsubscribe()
        answers.push(await setMaxUnavailable(handle, 2))
      },
      'arrival',
    )
    await bed.startWorker()

    const handle = await bed.start(bed.spec({ pools: LARGE }))
    const end = await bed.endOf(handle)

    expect(answers).toEqual([{ inForce: 'pool worker: 2 of 4 workers; from the next batch on' }])
    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', done: { count: 4 } } })
    expect((await handle.query<Progress>('progress')).batch?.number).toBe(2)
  })
})
