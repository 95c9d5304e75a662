import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { PlanReport } from '../../src/api/activities.js'
import { batchesOf } from '../support/batch-history.js'
import { labelNodes } from '../support/batch-nodes.js'
import { addBudget, BUDGETS, evictions, podsOf, runWorkload } from '../support/batch-pods.js'
import { RolloutBed } from '../support/rollout-bed.js'
import { waitUntil } from '../support/wait.js'

describe('disruption budgets in plan and batches', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  it('CKS-09, CKS-16 puts no two nodes in one batch that share a budget which allows fewer: no drain is held up', async () => {
    await bed.startCluster({ workers: 5 })
    await labelNodes(bed, ['w-1', 'w-2', 'w-3'], { stage: 'a' })
    await runWorkload(bed.kube.api, 'Deployment', 'web', { on: { stage: 'a' }, replicas: 3, apart: true })
    const on = (await podsOf(bed.kube.api, 'web')).map(({ spec }) => spec.nodeName)
    expect(on.sort()).toEqual(['w-1', 'w-2', 'w-3'])
    // Has room for whoever has to leave.
    await labelNodes(bed, ['w-5'], { stage: 'a' })
    await addBudget(bed.kube.api, 'web', 2, 3)
    // Whoever left has a place again before the next one is asked to go.
    const mayGo = async () =>
      (await bed.kube.api.ok('GET', `${BUDGETS}/web`)).status?.disruptionsAllowed === 1
    bed.cluster.cloud.onRequest(
      { call: 'start' },
      async () => void (await waitUntil(mayGo, { for: 'the pods to be three again' })),
      'arrival',
    )
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const spec = bed.spec({ pools: { worker: { offering: 'large', maxUnavailable: 3 } } })

    const handle = await bed.start(spec)
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({ kind: 'completed', result: { done: { count: 5 }, state: 'Running' } })
    expect((await handle.query<PlanReport>('plan')).notes).toEqual([
      'batches get smaller, and more, where nodes share a disruption budget; the first one so: ' +
        'w-2 comes after w-1: budget default/web allows 1 at a time, and they all have pods of it; ' +
        'w-3 comes after w-1: budget default/web allows 1 at a time, and they all have pods of it',
    ])
    const batches = await batchesOf(handle)
    expect(batches[0]).toMatchObject({
      nodes: ['w-1'],
      notes: ['w-2', 'w-3'].map(
        (name) =>
          `${name} comes after w-1: budget default/web allows 1 at a time, and they all have pods of it`,
      ),
    })
    // w-4 shares no budget with anybody.
    expect(batches[1]?.nodes).toEqual(['w-2', 'w-4'])
    const asked = await evictions(bed.kube, position)
    expect(asked.length).toBeGreaterThanOrEqual(3)
    expect(asked.map(({ code }) => code)).not.toContain(429)
    const lists = await bed.kube.audit.since(position, { resource: 'poddisruptionbudgets', user: 'noderoll' })
    // One for the plan, and one for each batch that would take more than one node down.
    expect(lists.length).toBeLessThanOrEqual(batches.length + 1)
    expect(new Set(lists.map(({ uri }) => uri.replace(/\?.*/, '')))).toEqual(
      new Set(['/apis/policy/v1/poddisruptionbudgets']),
    )
  })

  it('CKS-16 warns of a budget that can never allow an eviction, where its pods are on nodes that will be rolled', async () => {
    await bed.startCluster({ workers: 3 })
    for (const name of ['w-2', 'w-3']) {
      await runWorkload(bed.kube.api, 'Deployment', `only-on-${name}`, { on: name })
      await addBudget(bed.kube.api, `only-on-${name}`, 1)
    }
    bed.cluster.cloud.machine('w-3').offering = 'large'
    const position = await bed.kube.audit.mark()
    await bed.startWorker()
    const spec = { pools: { worker: { offering: 'large' } }, drain: { timeout: '2s' } }

    const plan = await bed.endOf(await bed.startType('planRollout', bed.spec(spec)))
    const end = await bed.roll(spec)

    const warning =
      'budget default/only-on-w-2 can never allow an eviction (needs 1 healthy of 1 pods, has 1) and has pods on w-2: ' +
      'a drain would not end. Let it allow one (maxUnavailable of at least 1) or add a pod'
    expect((plan as unknown as { result: PlanReport }).result.warnings).toEqual([warning])
    expect(end).toMatchObject({
      kind: 'failed',
      type: 'DrainBlocked',
      result: { done: { names: ['w-1'] }, warnings: [warning] },
    })
    const lists = await bed.kube.audit.since(position, { resource: 'poddisruptionbudgets', user: 'noderoll' })
    expect(lists.filter(({ uri }) => uri.startsWith('/apis/policy/v1/poddisruptionbudgets'))).toHaveLength(2)
  })
})
