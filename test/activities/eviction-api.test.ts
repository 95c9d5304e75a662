import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { addBudget, BUDGETS, PODS } from '../providers/kubernetes/bed.js'
import type { KubeAnswer } from '../support/kube-api.js'
import { waitUntil } from '../support/wait.js'
import { DrainBed } from './drain-bed.js'

// The API server's own rules for evictions, which the drain relies on: noderoll itself has no part in them but the last. The titles carry the ids of
// test/fixtures/drain-verdicts.json. The controller that counts budgets is held where a row sets the numbers itself.

let bed: DrainBed

beforeAll(async () => {
  bed = await DrainBed.open()
})
beforeEach(() => bed.begin())
afterEach(async () => {
  bed.parts.controlPlane.controllerManager.resume()
  await bed.end()
})
afterAll(() => bed?.close())

interface Evicting {
  readonly preconditions?: object
  readonly dryRun?: 'body' | 'query'
  readonly urlName?: string
}

async function evict(
  name: string,
  { preconditions, dryRun, urlName = name }: Evicting = {},
): Promise<KubeAnswer> {
  const query = dryRun === 'query' ? '?dryRun=All' : ''
  const options = { ...(preconditions && { preconditions }), ...(dryRun === 'body' && { dryRun: ['All'] }) }
  return await bed.parts.admin.call('POST', `${PODS}/${urlName}/eviction${query}`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name, namespace: 'default' },
    ...(Object.keys(options).length > 0 && { deleteOptions: options }),
  })
}

interface Budget {
  readonly disruptionsAllowed: number
  readonly currentHealthy?: number
  readonly desiredHealthy?: number
  readonly policy?: string
  readonly isBehind?: boolean
}

/** A budget over `web` with these numbers, which nobody recounts. */
async function addCounted(budget: Budget, name = 'guard'): Promise<void> {
  const { admin, controlPlane } = bed.parts
  controlPlane.controllerManager.pause()
  await admin.ok('POST', BUDGETS, {
    metadata: { name },
    spec: {
      minAvailable: 1,
      selector: { matchLabels: { app: 'web' } },
      ...(budget.policy && { unhealthyPodEvictionPolicy: budget.policy }),
    },
  })
  const { disruptionsAllowed, currentHealthy = 1, desiredHealthy = 1 } = budget
  await admin.ok('PATCH', `${BUDGETS}/${name}/status`, {
    status: {
      observedGeneration: budget.isBehind ? 0 : 1,
      disruptionsAllowed,
      currentHealthy,
      desiredHealthy,
      expectedPods: 2,
    },
  })
}

async function allowed(name = 'guard'): Promise<number> {
  return (await bed.parts.admin.ok('GET', `${BUDGETS}/${name}`)).status.disruptionsAllowed
}

describe('a budget', () => {
  it.each<[string, string, boolean, Budget, number]>([
    ['API-02 is not asked for a pending pod', 'Pending', false, { disruptionsAllowed: 0 }, 201],
    ['API-04 is not asked for a failed pod', 'Failed', false, { disruptionsAllowed: 0 }, 201],
    ['API-05 that allows one lets it go', 'Running', true, { disruptionsAllowed: 1 }, 201],
    [
      'API-09 that allows none holds one of its healthy pods',
      'Running',
      true,
      { disruptionsAllowed: 0, currentHealthy: 2, desiredHealthy: 2 },
      429,
    ],
    [
      'API-10 that is whole lets an unhealthy pod go',
      'Running',
      false,
      { disruptionsAllowed: 0, currentHealthy: 2, desiredHealthy: 2 },
      201,
    ],
    [
      'API-39 that lacks pods holds even an unhealthy one',
      'Running',
      false,
      { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 2 },
      429,
    ],
    [
      'API-40 that lacks pods lets an unhealthy one go by AlwaysAllow',
      'Running',
      false,
      { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 2, policy: 'AlwaysAllow' },
      201,
    ],
    [
      'API-37 that is not counted yet holds, whatever its numbers say',
      'Running',
      true,
      { disruptionsAllowed: 5, isBehind: true },
      429,
    ],
  ])('%s', async (title, phase, ready, budget, status) => {
    await bed.addPod('web', { phase, ready })
    await addCounted(budget)

    const answer = await evict('web')

    expect(answer.status).toBe(status)
    // Spent by the one that goes, else as it was.
    expect(await allowed()).toBe(title.startsWith('API-05') ? 0 : budget.disruptionsAllowed)
    expect(answer.headers['retry-after']).toBe(title.startsWith('API-37') ? '10' : undefined)
  })

  it('API-12 holds a pod that has begun to run', async () => {
    await bed.addPod('web', { phase: 'Pending', ready: false })
    await addCounted({ disruptionsAllowed: 0 })

    await bed.setStatus(`${PODS}/web`, { phase: 'Running', ready: true })

    expect((await evict('web')).status).toBe(429)
  })

  it('API-35 and another one on the same pod: refused, without a reason, and none is spent', async () => {
    await bed.addPod('web')
    await addCounted({ disruptionsAllowed: 1 }, 'one')
    await addCounted({ disruptionsAllowed: 1 }, 'two')

    const { status, body } = await evict('web')

    expect([status, body.reason]).toEqual([500, undefined])
    expect(body.message).toMatch(/more than one PodDisruptionBudget/)
    expect([await allowed('one'), await allowed('two')]).toEqual([1, 1])
  })

  it.each<[string, number, number]>([
    ['API-29 of two pods that wants two', 2, 429],
    ['API-30 of three pods that wants two', 3, 201],
  ])('%s', async (_, pods, status) => {
    for (let n = 0; n < pods; n++) await bed.addPod(`web-${n}`, { labels: { app: 'web' } })
    await addBudget(bed.parts.admin, 'guard', 'web', 2)

    expect((await evict('web-0')).status).toBe(status)
  })

  it.each<[string, object]>([
    ['API-32 that wants nine in ten', { minAvailable: '90%' }],
    ['API-34 that may miss one', { maxUnavailable: 1 }],
  ])('%s holds while not all of its workload can run', async (_, wanted) => {
    const labels = { app: 'web' }
    await bed.parts.admin.ok('POST', '/apis/apps/v1/namespaces/default/replicasets', {
      metadata: { name: 'web' },
      spec: {
        replicas: 10,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      },
    })
    const pods = await waitUntil(
      async () => {
        const made = await bed.parts.admin.list(PODS)
        return made.length === 10 && made
      },
      { for: 'ten pods' },
    )
    // Seven run, three cannot: only what has a node and is not pending is a budget's to hold.
    const running = pods.slice(0, 7).map(({ metadata }) => metadata.name)
    for (const name of running) {
      await bed.parts.admin.ok('POST', `${PODS}/${name}/binding`, {
        metadata: { name },
        target: { kind: 'Node', name: 'w-1' },
      })
      await bed.setStatus(`${PODS}/${name}`, {})
    }
    await bed.parts.admin.ok('POST', BUDGETS, {
      metadata: { name: 'guard' },
      spec: { ...wanted, selector: { matchLabels: labels } },
    })
    await waitUntil(
      async () => {
        const { status } = await bed.parts.admin.ok('GET', `${BUDGETS}/guard`)
        if (status?.currentHealthy !== 7) throw new Error(JSON.stringify(status))
        return true
      },
      // The controller looks up the workload, and pauses longer each time that it does not find it.
      { for: 'the count of the budget', timeoutMs: 90_000 },
    )

    expect((await evict(running[0] ?? '')).status).toBe(429)
  })

  it.each([
    ['API-22 IfHealthyBudget', 'IfHealthyBudget', true],
    ['API-24 AlwaysAllow', 'AlwaysAllow', false],
  ])('%s that wants none lets a pod go at the first call', async (_, policy, ready) => {
    await bed.addPod('web', { ready })
    await bed.parts.admin.ok('POST', BUDGETS, {
      metadata: { name: 'guard' },
      spec: {
        minAvailable: 0,
        selector: { matchLabels: { app: 'web' } },
        unhealthyPodEvictionPolicy: policy,
      },
    })
    await waitUntil(
      async () => (await bed.parts.admin.ok('GET', `${BUDGETS}/guard`)).status?.observedGeneration === 1,
      { for: 'the count of the budget' },
    )

    expect((await evict('web')).status).toBe(201)
  })
})

describe('an eviction', () => {
  it('API-07 under another name in the URL is refused', async () => {
    await bed.addPod('web')

    expect((await evict('web', { urlName: 'other' })).status).toBe(400)
  })

  it('API-44 of a pod that does not exist finds none', async () => {
    expect((await evict('nobody')).status).toBe(404)
  })

  it.each<[string, boolean, number]>([
    ['API-25 with a precondition that is right is accepted', true, 201],
    ['API-14, API-27 with one that is not right is refused', false, 409],
  ])('%s', async (_, isRight, status) => {
    const { metadata } = await bed.addPod('web', { phase: 'Pending', ready: false })
    const { uid } = metadata
    const resourceVersion = isRight ? metadata.resourceVersion : '1'

    expect((await evict('web', { preconditions: { uid, resourceVersion } })).status).toBe(status)
  })

  it.each(['body', 'query'] as const)(
    'API-15, API-20 as a dry run (%s) is accepted, and nothing is done',
    async (dryRun) => {
      await bed.addPod('web', { finalizers: ['example.com/hold'] })

      expect((await evict('web', { dryRun })).status).toBe(201)

      const { metadata, status } = await bed.parts.admin.ok('GET', `${PODS}/web`)
      expect(metadata.deletionTimestamp).toBeUndefined()
      expect(status.conditions.map(({ type }: { type: string }) => type)).not.toContain('DisruptionTarget')
    },
  )

  it('API-42 as a dry run is refused as it would be in earnest, and spends nothing', async () => {
    await bed.addPod('web')
    await addCounted({ disruptionsAllowed: 0 })

    expect((await evict('web', { dryRun: 'body' })).status).toBe(429)
  })

  it('CKS-16 API-17 of ten pods at once under a budget that allows all of them ends well', async () => {
    for (let n = 0; n < 10; n++) await bed.addPod(`web-${n}`, { labels: { app: 'web' } })
    await addBudget(bed.parts.admin, 'guard', 'web', 0)

    expect(await bed.drain({ policy: { parallelEvictions: 10 } })).toMatchObject({ evicted: 10 })

    expect(await bed.evictions(409)).toEqual([])
    expect(await bed.evictions(201)).toHaveLength(10)
  })
})
