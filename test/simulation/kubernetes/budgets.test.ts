import { beforeEach, describe, expect, it } from 'vitest'
import { BUDGETS, CONTAINER, conditionOf, onBoth, WORKLOADS } from './conformance.js'

onBoth('budgets', (cluster) => {
  beforeEach(async () => {
    await cluster().clean()
    await cluster().addNode('n-1')
  })

  const WEB = { matchLabels: { app: 'web' } }

  /** Pods that nobody keeps. */
  const addPods = async (ready: number, sick = 0) => {
    for (let n = 1; n <= ready + sick; n++) {
      const metadata = { labels: { app: 'web', n: String(n) } }
      await cluster().addPod(`web-${n}`, 'n-1', { ready: n <= ready ? 'True' : 'False', metadata })
    }
  }

  /** Pods of a ReplicaSet, of which so many are ready. */
  const addReplicas = async (replicas: number, ready: number) => {
    const labels = { app: 'web' }
    const spec = { containers: [CONTAINER], tolerations: [{ operator: 'Exists' }] }
    await cluster().ok('POST', `${WORKLOADS}/replicasets`, {
      metadata: { name: 'web' },
      spec: { replicas, selector: WEB, template: { metadata: { labels }, spec } },
    })
    const path = '/api/v1/namespaces/default/pods?labelSelector=app%3Dweb'
    const { items } = await cluster().until(path, 'be all', ({ items }) => items.length === replicas)
    for (const { metadata } of items.slice(0, ready)) await cluster().sayRunning(metadata.name)
  }

  const statusOf = async (spec: object, healthy: number, expected?: unknown) => {
    await cluster().ok('POST', BUDGETS, { metadata: { name: 'guard' }, spec: { selector: WEB, ...spec } })
    const budget = await cluster().until(
      `${BUDGETS}/guard`,
      'be counted',
      ({ status }) =>
        status.observedGeneration === 1 &&
        status.currentHealthy === healthy &&
        (expected === undefined || status.expectedPods === expected),
    )
    const { disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods } = budget.status
    return [
      expectedPods,
      desiredHealthy,
      currentHealthy,
      disruptionsAllowed,
      conditionOf(budget, 'DisruptionAllowed'),
    ]
  }

  const yes = expect.objectContaining({ status: 'True', reason: 'SufficientPods' })
  const no = expect.objectContaining({ status: 'False', reason: 'InsufficientPods' })

  it('begin with nothing counted', async () => {
    const { metadata, status } = await cluster().ok('POST', BUDGETS, {
      metadata: { name: 'guard' },
      spec: { minAvailable: 1, selector: WEB },
    })

    expect(metadata).toMatchObject({ generation: 1 })
    expect(status).toEqual({ disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 })
  })

  describe('of pods that nobody keeps', () => {
    it.each([
      ['a number that is there', { minAvailable: 2 }, [3, 2, 2, 0, no]],
      ['a number with one to spare', { minAvailable: 1 }, [3, 1, 2, 1, yes]],
      ['no need', { minAvailable: 0 }, [3, 0, 2, 2, yes]],
      ['more than there are', { minAvailable: 5 }, [3, 5, 2, 0, no]],
      ['a share of what nobody wants', { minAvailable: '50%' }, [0, 0, 2, 0, no]],
      ['some that may be missing of what nobody wants', { maxUnavailable: 1 }, [0, 0, 2, 0, no]],
      ['neither', {}, [0, 0, 2, 0, no]],
    ])('%s', async (_, spec, expected) => {
      await addPods(2, 1)

      expect(await statusOf(spec, 2, expected[0])).toEqual(expected)
    })

    it('by expressions, and by nothing at all', async () => {
      await addPods(3)
      const expressions = [
        { key: 'app', operator: 'In', values: ['web', 'api'] },
        { key: 'n', operator: 'NotIn', values: ['3'] },
        { key: 'none', operator: 'DoesNotExist' },
      ]
      expect(await statusOf({ minAvailable: 1, selector: { matchExpressions: expressions } }, 2, 2)).toEqual([
        ...[2, 1, 2, 1, yes],
      ])
      await cluster().ok('DELETE', `${BUDGETS}/guard`)

      expect(await statusOf({ minAvailable: 1, selector: {} }, 3, 3)).toEqual([3, 1, 3, 2, yes])
      await cluster().ok('DELETE', `${BUDGETS}/guard`)

      expect(await statusOf({ minAvailable: 0, selector: null }, 0)).toEqual([0, 0, 0, 0, no])
    })
  })

  describe('of pods that a controller keeps', () => {
    it.each([
      ['a share, rounded up', { minAvailable: '50%' }, [5, 3, 4, 1, yes]],
      ['some that may be missing', { maxUnavailable: 1 }, [5, 4, 4, 0, no]],
      ['a share that may be missing, rounded up', { maxUnavailable: '30%' }, [5, 3, 4, 1, yes]],
      ['all may be missing', { maxUnavailable: '100%' }, [5, 0, 4, 4, yes]],
    ])('%s', async (_, spec, expected) => {
      await addReplicas(5, 4)

      expect(await statusOf(spec, 4, expected[0])).toEqual(expected)
    })
  })

  it('count again when pods come, go, or fall sick', async () => {
    await addPods(2)
    await statusOf({ minAvailable: 1 }, 2)
    const allows = (count: number) =>
      cluster().until(
        `${BUDGETS}/guard`,
        `allow ${count}`,
        ({ status }) => status.disruptionsAllowed === count,
      )

    await cluster().sayRunning('web-2', 'Running', 'False')
    await allows(0)
    await cluster().sayRunning('web-2')
    await allows(1)
    await cluster().ok('DELETE', '/api/v1/namespaces/default/pods/web-2')
    // It still ends, and counts no longer as healthy.
    const { status } = await allows(0)
    expect(status).toMatchObject({ expectedPods: 2, currentHealthy: 1 })
  })

  it('change only at their version, or by a patch', async () => {
    await statusOf({ minAvailable: 1 }, 0)
    const spec = { minAvailable: 2, selector: WEB }

    const blind = await cluster().call('PUT', `${BUDGETS}/guard`, { metadata: { name: 'guard' }, spec })
    const patched = await cluster().ok('PATCH', `${BUDGETS}/guard`, { spec })

    expect(blind).toMatchObject({ status: 422, body: { reason: 'Invalid' } })
    expect(patched.metadata).toMatchObject({ generation: 2 })
  })

  it.each([
    ['both limits', { minAvailable: 1, maxUnavailable: 1 }, 'spec'],
    ['a share that is none', { minAvailable: '-1%' }, 'spec.minAvailable'],
    ['a share above all', { maxUnavailable: '101%' }, 'spec.maxUnavailable'],
    ['less than nothing', { minAvailable: -1 }, 'spec.minAvailable'],
  ])('are refused with %s', async (_, spec, field) => {
    const answer = await cluster().call('POST', BUDGETS, { metadata: { name: 'guard' }, spec })

    expect(answer).toMatchObject({
      status: 422,
      body: {
        reason: 'Invalid',
        message: expect.stringMatching(/^PodDisruptionBudget.policy "guard" is invalid: /),
        details: {
          ...{ name: 'guard', group: 'policy', kind: 'PodDisruptionBudget' },
          causes: [{ reason: 'FieldValueInvalid', field }],
        },
      },
    })
  })
})
