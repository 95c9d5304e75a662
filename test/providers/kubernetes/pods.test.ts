import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { PodRecord } from '../../../src/core/pods.js'
import type { KubernetesCluster } from '../../../src/providers/kubernetes/cluster.js'
import type { KubeObject } from '../../support/kube-api.js'
import { answer, loseAnswer, type Verdict } from '../../support/proxy.js'
import { waitUntil } from '../../support/wait.js'
import { addBudget, addNode, addPod, Bed, BUDGETS, PODS, patient, portError } from './bed.js'

let bed: Bed
let cluster: KubernetesCluster

beforeAll(async () => {
  bed = await Bed.start()
  cluster = (await bed.open()).cluster
})

beforeEach(async () => {
  bed.controlPlane.controllerManager.resume()
  await bed.clean()
  await addNode(bed.admin, 'w-1')
})

afterAll(async () => {
  await bed?.stop()
})

async function thePod(name: string): Promise<PodRecord> {
  const pod = (await cluster.podsOn('w-1', patient())).find((one) => one.name === name)
  if (pod === undefined) throw new Error(`no pod ${name} on w-1`)
  return pod
}

async function stored(name: string): Promise<KubeObject> {
  return await bed.admin.ok('GET', `${PODS}/${name}`)
}

describe('reading pods', () => {
  it('gives those on one node, whatever their namespace', async () => {
    await addNode(bed.admin, 'w-2')
    await addPod(bed.admin, 'web', 'w-1', { finalizers: ['example.org/held'] })
    await addPod(bed.admin, 'other', 'w-2')
    await bed.admin.ok('DELETE', `${PODS}/web?gracePeriodSeconds=1`)

    expect(await cluster.podsOn('w-1', patient())).toMatchObject([
      {
        namespace: 'default',
        name: 'web',
        nodeName: 'w-1',
        phase: 'Running',
        ready: true,
        terminating: true,
        finalizers: ['example.org/held'],
        labels: { app: 'web' },
      },
    ])
  })

  it('counts the age of a deletion by the server’s clock', async () => {
    await addPod(bed.admin, 'web', 'w-1')
    await bed.admin.ok('DELETE', `${PODS}/web?gracePeriodSeconds=30`)
    bed.proxy.on(
      { path: '/api/v1/pods' },
      {
        kind: 'pass',
        options: {
          change: ({ headers }) => ({
            headers: { ...headers, date: new Date(Date.now() + 3_600_000).toUTCString() },
          }),
        },
      },
    )

    const { deletionAgeSeconds } = await thePod('web')

    expect(deletionAgeSeconds).toBeGreaterThan(3_590)
    expect(deletionAgeSeconds).toBeLessThan(3_630)
  })

  it('says whether a DaemonSet exists', async () => {
    const labels = { app: 'agent' }
    await bed.admin.ok('POST', '/apis/apps/v1/namespaces/default/daemonsets', {
      metadata: { name: 'agent' },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      },
    })

    expect(await cluster.daemonSetExists('default', 'agent', patient())).toBe(true)
    expect(await cluster.daemonSetExists('default', 'other', patient())).toBe(false)
    bed.proxy.on({ path: /daemonsets/ }, answer(404, 'default backend'))
    await expect(cluster.daemonSetExists('default', 'agent', patient())).rejects.toEqual(
      portError('unreachable', /answered 404, and not as an API server does/),
    )
  })

  it('gives the budgets of a namespace', async () => {
    await addPod(bed.admin, 'web', 'w-1')
    await addBudget(bed.admin, 'guard', 'web', 1)
    await bed.admin.ok('POST', BUDGETS, {
      metadata: { name: 'all' },
      spec: { minAvailable: 0, selector: {} },
    })
    await bed.admin.ok('POST', BUDGETS, { metadata: { name: 'none' }, spec: { minAvailable: 0 } })

    const budgets = await waitUntil(
      async () => {
        const found = await cluster.budgets('default', patient())
        return found.every(({ name, expectedPods }) => name === 'none' || expectedPods === 1) && found
      },
      { for: 'the budgets to be counted' },
    )

    const matchesAll = { matchLabels: {}, matchExpressions: [] }
    expect(budgets).toMatchObject([
      { namespace: 'default', name: 'all', selector: matchesAll, disruptionsAllowed: 1 },
      {
        name: 'guard',
        selector: { matchLabels: { app: 'web' }, matchExpressions: [] },
        disruptionsAllowed: 0,
        currentHealthy: 1,
        desiredHealthy: 1,
      },
      { name: 'none', selector: null, disruptionsAllowed: 0 },
    ])
  })
})

describe('evicting a pod', () => {
  it('is accepted, with the grace period that was asked for', async () => {
    await addPod(bed.admin, 'web', 'w-1')

    expect(await cluster.evict(await thePod('web'), 7, patient())).toEqual({ kind: 'accepted' })

    expect((await stored('web')).metadata).toMatchObject({ deletionGracePeriodSeconds: 7 })
  })

  it('is accepted again while the pod terminates, and held by a finalizer', async () => {
    await addPod(bed.admin, 'web', 'w-1', { finalizers: ['example.org/held'] })
    const pod = await thePod('web')

    expect(await cluster.evict(pod, null, patient())).toEqual({ kind: 'accepted' })
    expect(await cluster.evict(pod, null, patient())).toEqual({ kind: 'accepted' })
  })

  it('finds it gone', async () => {
    await addPod(bed.admin, 'web', 'w-1')
    const pod = await thePod('web')
    await bed.admin.ok('DELETE', `${PODS}/web?gracePeriodSeconds=0`)

    expect(await cluster.evict(pod, null, patient())).toEqual({ kind: 'gone' })
  })

  it('B01 finds it gone when another one has its name, and leaves that one alone', async () => {
    await addPod(bed.admin, 'web', 'w-1')
    const pod = await thePod('web')
    await bed.admin.ok('DELETE', `${PODS}/web?gracePeriodSeconds=0`)
    await addPod(bed.admin, 'web', 'w-1')

    expect(await cluster.evict(pod, null, patient())).toEqual({ kind: 'gone' })
    expect((await stored('web')).metadata).not.toHaveProperty('deletionTimestamp')
  })

  it('B01 finds it gone when only the UID is another', async () => {
    await addPod(bed.admin, 'web', 'w-1')

    const answered = cluster.evict({ ...(await thePod('web')), uid: randomUUID() }, null, patient())

    expect(await answered).toEqual({ kind: 'gone' })
  })

  it('CKS-16 is blocked by a budget, with its arithmetic', async () => {
    await addPod(bed.admin, 'web', 'w-1')
    await addBudget(bed.admin, 'guard', 'web', 1)

    expect(await cluster.evict(await thePod('web'), null, patient())).toEqual({
      kind: 'blocked',
      budget: 'default/guard',
      why: 'budget default/guard needs 1 healthy, has 1',
    })
    expect((await stored('web')).metadata).not.toHaveProperty('deletionTimestamp')
  })

  it('is asked for later while the controller has not yet seen the budget', async () => {
    await addPod(bed.admin, 'web', 'w-1')
    await addBudget(bed.admin, 'guard', 'web', 0)
    bed.controlPlane.controllerManager.pause()
    await bed.admin.ok('PATCH', `${BUDGETS}/guard`, { spec: { minAvailable: 1 } })

    expect(await cluster.evict(await thePod('web'), null, patient())).toEqual({
      kind: 'later',
      afterSeconds: 10,
      why: 'The disruption budget guard is still being processed by the server',
    })
  })

  it('is refused for good when two budgets cover the pod', async () => {
    await addPod(bed.admin, 'web', 'w-1')
    await addBudget(bed.admin, 'guard', 'web', 0)
    await addBudget(bed.admin, 'second', 'web', 0)

    expect(await cluster.evict(await thePod('web'), null, patient())).toEqual({
      kind: 'manyBudgets',
      why: expect.stringMatching(/^This pod has more than one PodDisruptionBudget/),
    })
  })

  it('of a pending pod asks no budget', async () => {
    await addPod(bed.admin, 'web', 'w-1', { phase: 'Pending', ready: false })
    await addBudget(bed.admin, 'guard', 'web', 1)
    await addBudget(bed.admin, 'second', 'web', 1)

    expect(await cluster.evict(await thePod('web'), null, patient())).toEqual({ kind: 'accepted' })
  })

  it('is asked for later while the namespace is going', async () => {
    const namespace = `going-${randomUUID()}`
    const labels = { 'noderoll.test': '1' }
    await bed.admin.ok('POST', '/api/v1/namespaces', { metadata: { name: namespace, labels } })
    await bed.admin.ok('POST', `/api/v1/namespaces/${namespace}/pods`, {
      metadata: { name: 'web' },
      spec: { nodeName: 'w-1', containers: [{ name: 'c', image: 'i' }] },
    })
    bed.controlPlane.controllerManager.pause()
    await bed.admin.ok('DELETE', `/api/v1/namespaces/${namespace}`)

    // The API server's own cache learns of it a moment later.
    const answered = await waitUntil(
      async () => {
        const one = await cluster.evict(await thePod('web'), null, patient())
        return one.kind !== 'accepted' && one
      },
      { for: 'the namespace to be known as going' },
    )

    expect(answered).toMatchObject({ kind: 'later', why: expect.stringMatching(/is being terminated/) })
  })

  const NOT_ALLOWED = { kind: 'Status', code: 403, reason: 'Forbidden', message: 'pods "web" is forbidden' }
  const OVERLOADED = { kind: 'Status', code: 429, reason: 'TooManyRequests', message: 'please try later' }
  const BUDGET_BEHIND = { ...NOT_ALLOWED, details: { kind: 'poddisruptionbudget', name: 'guard' } }
  const RACE = { kind: 'Status', code: 409, reason: 'Conflict', message: 'the budget has been modified' }

  it.each<[string, Verdict, object]>([
    ['flow control', answer(429, OVERLOADED, { 'retry-after': '3' }), { kind: 'slowDown', afterSeconds: 3 }],
    ['a proxy’s own 429', answer(429, 'slow down'), { kind: 'slowDown', afterSeconds: 1 }],
    [
      'a webhook that moves the pod itself',
      answer(429, { ...OVERLOADED, message: 'admission webhook "x" denied the request: it migrates' }),
      { kind: 'later', why: expect.stringMatching(/^admission webhook "x" denied/) },
    ],
    ['a budget whose numbers are being mended', answer(403, BUDGET_BEHIND), { kind: 'later' }],
    ['two evictions at once', answer(409, RACE), { kind: 'later', why: 'the budget has been modified' }],
    [
      'a budget that says so in other words',
      answer(429, {
        ...OVERLOADED,
        details: { causes: [{ reason: 'DisruptionBudget', message: 'budget guard failed to sync' }] },
      }),
      { kind: 'blocked', why: 'default: budget guard failed to sync' },
    ],
  ])('tells apart: %s', async (_, verdict, expected) => {
    await addPod(bed.admin, 'web', 'w-1')
    bed.proxy.on({ path: /eviction$/ }, verdict)

    expect(await cluster.evict(await thePod('web'), null, patient())).toMatchObject(expected)
  })

  it.each<[string, Verdict, object]>([
    [
      'no right to evict',
      answer(403, NOT_ALLOWED),
      portError('refused', /evict pod default\/web: pods "web" is/),
    ],
    ['a 404 that no API server wrote', answer(404, 'default backend'), portError('unreachable')],
    ['an internal error', answer(500, 'oops'), portError('unreachable')],
    ['a lost answer', loseAnswer(), portError('unreachable')],
  ])('is no answer: %s', async (_, verdict, expected) => {
    await addPod(bed.admin, 'web', 'w-1')
    const pod = await thePod('web')
    bed.proxy.on({ path: /eviction$/ }, verdict)

    await expect(cluster.evict(pod, null, patient())).rejects.toEqual(expected)
  })
})
