import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { eventsOn, isCordoned, nodeWrites, patchNode } from '../support/batch-nodes.js'
import { addBudget, BUDGETS, bindTo, evictions, podsOf, runWorkload } from '../support/batch-pods.js'
import { atLookOfAct, goneAt, onlyW1OutOfDate, stoppedAt, untilEvictionOf } from '../support/drain-story.js'
import { RolloutBed } from '../support/rollout-bed.js'
import { waitUntil } from '../support/wait.js'

describe('a cordon that is lost during a drain', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
    bed.keepsWorker = true
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  /** Stays pending until the test binds it; and until its kubelet has ended it. */
  const NOWHERE = { on: { stage: 'nowhere' }, untilReady: false, graceSeconds: 1 }
  const TO_LARGE = { pools: { worker: { offering: 'large' } } }

  it('B03 cordons again when somebody uncordons in mid-drain, says so, and evicts who came meanwhile', async () => {
    await bed.startCluster({ workers: 2 })
    onlyW1OutOfDate(bed)
    await runWorkload(bed.kube.api, 'Deployment', 'held', { on: 'w-1' })
    await addBudget(bed.kube.api, 'held', 1)
    const position = await bed.kube.audit.mark()
    await bed.startWorker()
    const handle = await bed.start(bed.spec(TO_LARGE))
    await untilEvictionOf(bed, 'held', position)

    await runWorkload(bed.kube.api, 'Deployment', 'newcomer', NOWHERE)
    const [newcomer] = await podsOf(bed.kube.api, 'newcomer')
    await patchNode(bed, 'w-1', { spec: { unschedulable: false } })
    await bindTo(bed.kube.api, newcomer, 'w-1')
    await waitUntil(async () => isCordoned(await bed.node('w-1')), { for: 'the cordon to be back' })
    await bed.kube.api.ok('DELETE', `${BUDGETS}/held`)
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1'] } } })
    expect(await eventsOn(bed, 'w-1')).toContain('CordonedAgain')
    const evicted = (await evictions(bed.kube, position)).filter(({ code }) => code === 201)
    const asked = evicted.find(({ name }) => name === newcomer?.metadata.name)
    const [first, again, ...more] = (await nodeWrites(bed, position, 'w-1')).filter(
      ({ requestBody, code }) => code === 200 && requestBody.spec?.unschedulable === true,
    )
    expect([first, again, more]).toEqual([expect.anything(), expect.anything(), []])
    // Before or after the second cordon: pods and nodes are told by two watches.
    expect(asked).toBeDefined()
    expect(stoppedAt(bed, 'w-1')).toBeGreaterThanOrEqual(await goneAt(bed, position, newcomer?.metadata.name))
  })

  it.each([
    ['a pod comes', true],
    ['nothing comes', false],
  ])(
    'B03 drains again when the cordon is lost between the drain and the stop and %s',
    async (_what, comes) => {
      await bed.startCluster({ workers: 2 })
      onlyW1OutOfDate(bed)
      await runWorkload(bed.kube.api, 'Deployment', 'newcomer', NOWHERE)
      const [newcomer] = await podsOf(bed.kube.api, 'newcomer')
      atLookOfAct(bed, 'w-1', async () => {
        await patchNode(bed, 'w-1', { spec: { unschedulable: false } })
        if (comes) await bindTo(bed.kube.api, newcomer, 'w-1')
      })
      const position = await bed.kube.audit.mark()
      await bed.startWorker()

      const end = await bed.roll(TO_LARGE)

      expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1'] } } })
      const stop = stoppedAt(bed, 'w-1') ?? Number.NaN
      const cordons = (await nodeWrites(bed, position, 'w-1')).filter(
        ({ requestBody, time, code }) =>
          code === 200 && requestBody.spec?.unschedulable === true && time <= stop,
      )
      expect(cordons).toHaveLength(2)
      const evicted = (await evictions(bed.kube, position)).map(({ name }) => name)
      expect(evicted).toEqual(comes ? [newcomer?.metadata.name] : [])
      expect(stop).toBeGreaterThanOrEqual(comes ? await goneAt(bed, position, newcomer?.metadata.name) : 0)
      expect(isCordoned(await bed.node('w-1'))).toBe(false)
    },
  )
})
