import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { HEARTBEAT_SECONDS } from '../../src/api/timing.js'
import { behindProxy, expectAsFound, found, isCordoned, nodeWrites } from '../support/batch-nodes.js'
import { addBudget, BUDGETS, evictions, podsOf, runWorkload } from '../support/batch-pods.js'
import { blackHole, pass } from '../support/proxy.js'
import { RolloutBed } from '../support/rollout-bed.js'
import { waitUntil } from '../support/wait.js'

describe('the requests of a rollout that drains', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  const TO_LARGE = { pools: { worker: { offering: 'large' } } }

  it('B34 CORDON-01 the cordon is read back before the first eviction, and one write takes it away', async () => {
    await bed.startCluster({ workers: 1 })
    await runWorkload(bed.kube.api, 'Deployment', 'web', { on: 'w-1' })
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end.kind).toBe('completed')
    const [cordon, uncordon, ...more] = (await nodeWrites(bed, position, 'w-1')).filter(
      ({ requestBody, code }) => code === 200 && requestBody.spec?.unschedulable !== undefined,
    )
    expect(cordon?.requestBody.spec.unschedulable).toBe(true)
    expect(uncordon?.requestBody.spec.unschedulable).not.toBe(true)
    expect(more).toEqual([])
    expect(isCordoned(await bed.node('w-1'))).toBe(false)
    const [eviction] = await evictions(bed.kube, position)
    const reads = await bed.kube.audit.since(position, {
      user: 'noderoll',
      verb: 'get',
      name: 'w-1',
      code: 200,
    })
    const inBetween = reads.filter(
      ({ time }) => time >= (cordon?.time ?? Number.NaN) && time <= (eviction?.time ?? Number.NaN),
    )
    expect(inBetween).not.toEqual([])
  })

  it('B34, K1 a patch whose content type does not arrive is a hard stop: no eviction, no act, the node as found', async () => {
    await bed.startCluster({ workers: 2 })
    await runWorkload(bed.kube.api, 'Deployment', 'web', { on: 'w-1' })
    const before = await found(bed)
    const { proxy, kubernetes } = await behindProxy(bed)
    const wrong = { 'content-type': 'application/json-patch+json' }
    const rule = proxy.on({ method: 'PATCH', path: '/api/v1/nodes/w-1' }, pass({ headers: wrong }))
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll({ ...TO_LARGE, kubernetes })

    expect(end).toMatchObject({ kind: 'failed', result: { failed: [{ step: 'cordon' }], state: 'Running' } })
    expect(rule.hits).not.toEqual([])
    expect((await nodeWrites(bed, position)).filter(({ code }) => code < 400)).toEqual([])
    expect(await evictions(bed.kube, position)).toEqual([])
    expect(bed.acts(false)).toEqual([])
    await expectAsFound(bed, before)
  })

  it('B35 every request of a drain hangs for longer than a heartbeat may be late: the same attempt goes on afterwards', async () => {
    await bed.startCluster({ workers: 1 })
    await runWorkload(bed.kube.api, 'Deployment', 'held', { on: 'w-1' })
    await addBudget(bed.kube.api, 'held', 1)
    const [pod] = await podsOf(bed.kube.api, 'held')
    const { proxy, kubernetes } = await behindProxy(bed)
    const position = await bed.kube.audit.mark()
    await bed.startWorker()
    const handle = await bed.start(
      bed.spec({ ...TO_LARGE, kubernetes, drain: { timeout: '60s' }, batchTimeout: '120s' }),
    )
    await waitUntil(async () => (await evictions(bed.kube, position)).length > 0, { for: 'an eviction' })

    let hangs = true
    const hole = proxy.on(() => hangs, blackHole())
    await waitUntil(
      () =>
        proxy.requests.every(
          ({ verdict, status, path }) =>
            verdict !== 'pass' || status !== undefined || path.includes('watch='),
        ),
      { for: 'the answers to what had been let through' },
    )
    const hungAt = Date.now()
    const hung = await bed.kube.audit.mark()
    await waitUntil(() => hole.hits.some(({ time }) => time - hungAt > HEARTBEAT_SECONDS * 1000), {
      for: 'the drain to ask again, after its heartbeats would have been missed',
    })
    const meanwhile = await evictions(bed.kube, hung)
    hangs = false
    await bed.kube.api.ok('DELETE', `${BUDGETS}/held`)
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1'] } } })
    expect(meanwhile).toEqual([])
    // None of those that hang is ever answered: only a deadline of their own lets the drain ask again.
    expect(hole.hits.length).toBeGreaterThan(1)
    const accepted = (await evictions(bed.kube, position)).filter(({ code }) => code === 201)
    expect(accepted.map(({ requestBody }) => requestBody?.deleteOptions?.preconditions?.uid)).toEqual([
      pod?.metadata.uid,
    ])
    expect(await attemptsOf(handle, 'drainNode')).toEqual([1])
  })

  /** The attempt in which each step of this kind began, as far as the history has it: the last one. */
  async function attemptsOf(handle: { workflowId: string }, type: string): Promise<(number | undefined)[]> {
    const { events = [] } = await bed.client.workflow.getHandle(handle.workflowId).fetchHistory()
    const scheduled = (events ?? []).filter(
      (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === type,
    )
    const ids = new Set(scheduled.map(({ eventId }) => String(eventId)))
    return (events ?? []).flatMap(({ activityTaskStartedEventAttributes: started }) =>
      started && ids.has(String(started.scheduledEventId)) ? [started.attempt ?? undefined] : [],
    )
  }
})
