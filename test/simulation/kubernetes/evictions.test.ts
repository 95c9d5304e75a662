import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { BUDGETS, conditionOf, onBoth, PODS } from './conformance.js'

const REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."

onBoth('evictions', (cluster) => {
  beforeEach(async () => {
    cluster().kube.controllerManager.resume()
    await cluster().clean()
    await cluster().addNode('n-1')
  })

  const addBudget = async (name: string, spec: object, healthy: number) => {
    await cluster().ok('POST', BUDGETS, {
      metadata: { name },
      spec: { selector: { matchLabels: { app: 'web' } }, ...spec },
    })
    return await cluster().until(
      `${BUDGETS}/${name}`,
      'be counted',
      ({ status }) => status.observedGeneration === 1 && status.currentHealthy === healthy,
    )
  }

  const allowed = async (name: string) =>
    (await cluster().get(`${BUDGETS}/${name}`)).status.disruptionsAllowed

  const addPods = async (...names: string[]) => {
    for (const name of names) await cluster().addPod(name, 'n-1', { metadata: { labels: { app: 'web' } } })
  }

  describe('without a budget', () => {
    it('delete the pod with the grace period asked for, and tell why', async () => {
      await addPods('web-1')

      expect(await cluster().evict('web-1', { gracePeriodSeconds: 7 })).toMatchObject({
        status: 201,
        body: { kind: 'Status', status: 'Success', code: 201 },
      })
      const pod = await cluster().get(`${PODS}/web-1`)
      expect(pod.metadata).toMatchObject({ deletionGracePeriodSeconds: 7 })
      expect(conditionOf(pod, 'DisruptionTarget')).toMatchObject({
        ...{ status: 'True', reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting' },
      })
    })

    it('are accepted again while the pod ends', async () => {
      await addPods('web-1')
      await cluster().evict('web-1')

      expect((await cluster().evict('web-1')).status).toBe(201)
    })

    it('of no pod, or of another than the path says, are refused', async () => {
      await addPods('web-1')
      const other = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'web-2' } }

      expect(await cluster().evict('none')).toMatchObject({
        status: 404,
        body: {
          reason: 'NotFound',
          message: 'pods "none" not found',
          details: { name: 'none', kind: 'pods' },
        },
      })
      expect(await cluster().call('POST', `${PODS}/web-1/eviction`, other)).toMatchObject({
        status: 400,
        body: { reason: 'BadRequest', message: 'name in URL does not match name in Eviction object' },
      })
    })

    it('of another pod of that name are a conflict', async () => {
      await addPods('web-1')

      expect(await cluster().evict('web-1', { preconditions: { uid: randomUUID() } })).toMatchObject({
        status: 409,
        body: {
          reason: 'Conflict',
          message: expect.stringMatching(
            /^Operation cannot be fulfilled on Pod "web-1": the UID in the precondition/,
          ),
        },
      })
      const pod = await cluster().get(`${PODS}/web-1`)
      expect(pod.metadata.deletionTimestamp).toBeUndefined()
      expect(conditionOf(pod, 'DisruptionTarget')).toBeUndefined()
    })

    it('of another pod that is pending are a conflict only after ten seconds of trying', async () => {
      await cluster().addPod('web-1', 'n-1', { phase: 'Pending', ready: 'False' })
      const began = performance.now()

      const { status } = await cluster().evict('web-1', { preconditions: { uid: randomUUID() } })

      expect(status).toBe(409)
      expect(performance.now() - began).toBeGreaterThan(9_000)
    })
  })

  describe('under a budget', () => {
    it('spend it, and are blocked when it is spent', async () => {
      await addPods('web-1', 'web-2')
      await addBudget('guard', { minAvailable: 1 }, 2)
      expect(await allowed('guard')).toBe(1)

      const first = await cluster().evict('web-1')
      const second = await cluster().evict('web-2')

      expect(first.status).toBe(201)
      expect(second).toMatchObject({
        status: 429,
        body: {
          ...{ kind: 'Status', reason: 'TooManyRequests', message: REFUSED },
          details: {
            causes: [
              {
                reason: 'DisruptionBudget',
                message: expect.stringMatching(
                  /^The disruption budget guard needs 1 healthy pods and has [12] currently$/,
                ),
              },
            ],
          },
        },
      })
      expect(second.headers).not.toHaveProperty('retry-after')
      expect(second.body.details).not.toHaveProperty('retryAfterSeconds')
    })

    it('cost it also when they name another pod, until it is counted again', async () => {
      await addPods('web-1', 'web-2')
      await addBudget('guard', { minAvailable: 1 }, 2)
      cluster().kube.controllerManager.pause()

      const answer = await cluster().evict('web-1', { preconditions: { uid: randomUUID() } })

      expect(answer.status).toBe(409)
      expect((await cluster().get(`${BUDGETS}/guard`)).status).toMatchObject({
        disruptionsAllowed: 0,
        disruptedPods: { 'web-1': expect.any(String) },
      })
      expect((await cluster().evict('web-2')).status).toBe(429)
    })

    it('in a dry run say what would be, and cost nothing', async () => {
      await addPods('web-1', 'web-2')
      await addBudget('guard', { minAvailable: 1 }, 2)

      expect((await cluster().evict('web-1', { dryRun: ['All'] })).status).toBe(201)
      expect((await cluster().evict('web-2', { dryRun: ['All'] })).status).toBe(201)
      expect(await allowed('guard')).toBe(1)
      expect((await cluster().get(`${PODS}/web-1`)).metadata.deletionTimestamp).toBeUndefined()

      await cluster().evict('web-1')
      expect((await cluster().evict('web-2', { dryRun: ['All'] })).status).toBe(429)
    })

    it('have to wait while it has changed and is not counted', async () => {
      await addPods('web-1')
      await addBudget('guard', { minAvailable: 0 }, 1)
      cluster().kube.controllerManager.pause()
      await cluster().ok('PATCH', `${BUDGETS}/guard`, { spec: { minAvailable: 1 } })

      const answer = await cluster().evict('web-1')

      expect(answer).toMatchObject({
        status: 429,
        headers: { 'retry-after': '10' },
        body: {
          message: REFUSED,
          details: {
            retryAfterSeconds: 10,
            causes: [
              {
                reason: 'DisruptionBudget',
                message: 'The disruption budget guard is still being processed by the server.',
              },
            ],
          },
        },
      })
    })

    it('ask it nothing for a pod that is pending or has ended', async () => {
      await addPods('web-1')
      for (const [name, phase] of [
        ['pending', 'Pending'],
        ['failed', 'Failed'],
        ['done', 'Succeeded'],
      ] as const) {
        await cluster().addPod(name, 'n-1', { phase, ready: 'False', metadata: { labels: { app: 'web' } } })
      }
      await addBudget('guard', { minAvailable: 1 }, 1)

      for (const name of ['pending', 'failed', 'done']) {
        expect([name, (await cluster().evict(name)).status]).toEqual([name, 201])
      }
      expect((await cluster().evict('web-1')).status).toBe(429)
    })

    it('may take a pod that is not ready, when enough others are or the budget says so', async () => {
      await addPods('web-1')
      const sick = async (name: string) => {
        await cluster().addPod(name, 'n-1', { ready: 'False', metadata: { labels: { app: 'web' } } })
      }
      await sick('sick-1')
      await sick('sick-2')
      await addBudget('guard', { minAvailable: 1 }, 1)
      expect((await cluster().evict('sick-1')).status).toBe(201)
      await cluster().ok('DELETE', `${BUDGETS}/guard`)

      await addBudget('strict', { minAvailable: 2 }, 1)
      expect((await cluster().evict('sick-2')).status).toBe(429)
      await cluster().ok('DELETE', `${BUDGETS}/strict`)

      await addBudget('lax', { minAvailable: 2, unhealthyPodEvictionPolicy: 'AlwaysAllow' }, 1)
      expect((await cluster().evict('sick-2')).status).toBe(201)
    })
  })

  it('under two budgets fail without a reason, but not for a pending pod', async () => {
    await addPods('web-1')
    await cluster().addPod('pending', 'n-1', {
      ...{ phase: 'Pending', ready: 'False' },
      metadata: { labels: { app: 'web' } },
    })
    await addBudget('one', { minAvailable: 0 }, 1)
    await addBudget('two', { minAvailable: 0 }, 1)

    const running = await cluster().evict('web-1')

    expect(running).toMatchObject({
      status: 500,
      body: {
        kind: 'Status',
        message:
          'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
      },
    })
    expect(running.body).not.toHaveProperty('reason')
    expect((await cluster().evict('pending')).status).toBe(201)
  })
})
