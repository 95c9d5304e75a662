import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { waitUntil } from '../../support/wait.js'
import { CONTAINER, conditionOf, onBoth, PODS } from './conformance.js'

onBoth('pods', (cluster) => {
  beforeEach(async () => {
    await cluster().clean()
    await cluster().addNode('n-1')
  })

  const remove = (options?: object, query = '') => cluster().call('DELETE', `${PODS}/web${query}`, options)

  describe('when they are made', () => {
    it('get what a pod has by default', async () => {
      const pod = await cluster().ok('POST', PODS, {
        metadata: { name: 'web' },
        spec: { nodeSelector: { none: 'such' }, containers: [CONTAINER] },
      })

      const failure = { operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }
      expect(pod).toMatchObject({
        metadata: { generation: 1 },
        spec: {
          ...{
            restartPolicy: 'Always',
            terminationGracePeriodSeconds: 30,
            schedulerName: 'default-scheduler',
          },
          ...{ priority: 0, preemptionPolicy: 'PreemptLowerPriority', enableServiceLinks: true },
          tolerations: [
            { key: 'node.kubernetes.io/not-ready', ...failure },
            { key: 'node.kubernetes.io/unreachable', ...failure },
          ],
          containers: [{ ...CONTAINER, imagePullPolicy: 'IfNotPresent', resources: {} }],
        },
        status: { phase: 'Pending', qosClass: 'BestEffort' },
      })
      expect(pod.spec).not.toHaveProperty('nodeName')
    })

    it.each([
      ['system-node-critical', 2_000_001_000],
      ['system-cluster-critical', 2_000_000_000],
    ])('have the priority of their class: %s', async (priorityClassName, priority) => {
      const { spec } = await cluster().addPod('web', 'n-1', { spec: { priorityClassName } })

      expect(spec).toMatchObject({ priorityClassName, priority })
    })

    it.each([
      [
        'a class of priority that there is not',
        { priorityClassName: 'none', containers: [CONTAINER] },
        { status: 403, body: { reason: 'Forbidden', message: /no PriorityClass with name none was found$/ } },
      ],
      [
        'no container',
        {},
        {
          status: 422,
          body: { reason: 'Invalid', message: 'Pod "web" is invalid: spec.containers: Required value' },
        },
      ],
      [
        'a container without an image',
        { containers: [{ name: 'main' }] },
        { status: 422, body: { reason: 'Invalid', message: /spec.containers\[0\].image: Required value/ } },
      ],
    ])('are refused with %s', async (_, spec, { status, body: { reason, message } }) => {
      expect(await cluster().call('POST', PODS, { metadata: { name: 'web' }, spec })).toMatchObject({
        ...{ status },
        body: { reason, message: typeof message === 'string' ? message : expect.stringMatching(message) },
      })
    })
  })

  it('cannot be changed but in their labels and such', async () => {
    await cluster().addPod('web', 'n-1')

    const moved = await cluster().call('PATCH', `${PODS}/web`, { spec: { nodeName: 'n-2' } })
    const labelled = await cluster().call('PATCH', `${PODS}/web`, { metadata: { labels: { a: 'b' } } })

    expect(moved).toMatchObject({
      status: 422,
      body: {
        reason: 'Invalid',
        message: expect.stringMatching(
          /^Pod "web" is invalid: spec: Forbidden: pod updates may not change fields/,
        ),
      },
    })
    expect(labelled).toMatchObject({ status: 200, body: { metadata: { labels: { app: 'web', a: 'b' } } } })
  })

  describe('are bound', () => {
    const bind = (name: string, node = 'n-1') =>
      cluster().call('POST', `${PODS}/${name}/binding`, {
        ...{ apiVersion: 'v1', kind: 'Binding', metadata: { name } },
        target: { apiVersion: 'v1', kind: 'Node', name: node },
      })

    it('to a node, and no second time', async () => {
      // The scheduler keeps its hands off.
      const spec = { schedulerName: 'nobody', containers: [CONTAINER] }
      await cluster().ok('POST', PODS, { metadata: { name: 'web' }, spec })

      const bound = await bind('web')
      const again = await bind('web', 'n-2')

      expect(bound).toMatchObject({ status: 201, body: { kind: 'Status', status: 'Success', code: 201 } })
      expect(again).toMatchObject({
        status: 409,
        body: {
          reason: 'Conflict',
          message:
            'Operation cannot be fulfilled on pods/binding "web": pod web is already assigned to node "n-1"',
        },
      })
      const pod = await cluster().get(`${PODS}/web`)
      expect(pod.spec.nodeName).toBe('n-1')
      expect(conditionOf(pod, 'PodScheduled')).toMatchObject({ status: 'True' })
    })

    it('not when they do not exist', async () => {
      expect(await bind('none')).toMatchObject({ status: 404, body: { reason: 'NotFound' } })
    })
  })

  describe('end', () => {
    it('when their kubelet says so, at the latest after their grace period', async () => {
      await cluster().addPod('web', 'n-1')
      const before = Math.floor(Date.now() / 1000)

      const { status, body } = await remove({ gracePeriodSeconds: 20 })
      const after = Math.ceil(Date.now() / 1000)

      expect(status).toBe(200)
      expect(body).toMatchObject({
        kind: 'Pod',
        metadata: { deletionGracePeriodSeconds: 20, generation: 2, deletionTimestamp: expect.any(String) },
      })
      const ends = Date.parse(body.metadata.deletionTimestamp) / 1000
      expect(ends).toBeGreaterThanOrEqual(before + 20)
      expect(ends).toBeLessThanOrEqual(after + 20)
      const { uid } = body.metadata
      expect(await remove({ gracePeriodSeconds: 0, preconditions: { uid } })).toMatchObject({ status: 200 })
      expect((await cluster().call('GET', `${PODS}/web`)).status).toBe(404)
    })

    it('after the grace period they have themselves, unless told otherwise', async () => {
      await cluster().addPod('web', 'n-1', { spec: { terminationGracePeriodSeconds: 7 } })

      expect((await remove()).body.metadata.deletionGracePeriodSeconds).toBe(7)
    })

    it('sooner when asked again, and never later', async () => {
      await cluster().addPod('web', 'n-1')
      const first = await remove(undefined, '?gracePeriodSeconds=20')
      const later = await remove({ gracePeriodSeconds: 25 })
      // With a body, nothing else counts.
      const unsaid = await remove({}, '?gracePeriodSeconds=3')
      const sooner = await remove({ gracePeriodSeconds: 5 }, '?gracePeriodSeconds=3')

      const grace = [first, later, unsaid, sooner].map(({ body }) => body.metadata.deletionGracePeriodSeconds)
      expect(grace).toEqual([20, 20, 20, 5])
      const ends = (answer: typeof first) => Date.parse(answer.body.metadata.deletionTimestamp)
      expect(ends(first) - ends(sooner)).toBe(15_000)
      expect(sooner.body.metadata.generation).toBe(2)
    })

    it.each([
      ['on no node', { nodeName: '', phase: 'Pending' }],
      ['that have succeeded', { nodeName: 'n-1', phase: 'Succeeded' }],
      ['that have failed', { nodeName: 'n-1', phase: 'Failed' }],
    ])('at once: %s', async (_, { nodeName, phase }) => {
      await cluster().addPod('web', nodeName, {
        phase,
        ready: 'False',
        spec: { nodeSelector: { none: 'such' } },
      })

      expect(await remove()).toMatchObject({ status: 200, body: { kind: 'Pod' } })
      expect((await cluster().call('GET', `${PODS}/web`)).status).toBe(404)
    })

    it('when their finalizers are gone, too, however they were to end', async () => {
      await cluster().addPod('web', 'n-1', { metadata: { finalizers: ['example.org/held'] } })

      expect(await remove({ gracePeriodSeconds: 0 })).toMatchObject({
        status: 200,
        body: { metadata: { deletionGracePeriodSeconds: 0, finalizers: ['example.org/held'] } },
      })
      expect((await cluster().call('GET', `${PODS}/web`)).status).toBe(200)
      await cluster().ok('PATCH', `${PODS}/web`, { metadata: { finalizers: null } })
      expect((await cluster().call('GET', `${PODS}/web`)).status).toBe(404)
    })

    it('not when another one was meant', async () => {
      await cluster().addPod('web', 'n-1')

      expect(await remove({ preconditions: { uid: randomUUID() } })).toMatchObject({
        status: 409,
        body: {
          reason: 'Conflict',
          message: expect.stringMatching(
            /^Operation cannot be fulfilled on Pod "web": the UID in the precondition .* does not match the UID/,
          ),
          details: { name: 'web', kind: 'Pod' },
        },
      })
      expect((await cluster().get(`${PODS}/web`)).metadata.deletionTimestamp).toBeUndefined()
    })

    it('are seen to end even when they end at once', async () => {
      await cluster().addPod('web', 'n-1')
      const { metadata } = await cluster().get(`${PODS}?limit=1`)
      const controller = new AbortController()
      const told: string[] = []
      const watching = (async () => {
        for await (const { type, object } of cluster().api.watch(
          `${PODS}?resourceVersion=${metadata.resourceVersion}`,
          controller.signal,
        )) {
          told.push(`${type} ${object.metadata.deletionTimestamp === undefined ? 'runs' : 'ends'}`)
        }
      })().catch(() => undefined)

      await remove({ gracePeriodSeconds: 0 })
      await waitUntil(() => told.length >= 2, { for: 'two events', timeoutMs: 5_000 })
      controller.abort()
      await watching

      expect(told).toEqual(['MODIFIED ends', 'DELETED ends'])
    })
  })

  it('go with their namespace, in which nothing new is made', async () => {
    const namespace = `going-${randomUUID().slice(0, 8)}`
    const pods = `/api/v1/namespaces/${namespace}/pods`
    await cluster().ok('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
    await cluster().ok('POST', pods, {
      metadata: { name: 'web', finalizers: ['example.org/held'] },
      spec: { nodeName: 'n-1', containers: [CONTAINER] },
    })

    const going = await cluster().call('DELETE', `/api/v1/namespaces/${namespace}`)
    const refused = await waitUntil(
      async () => {
        // The API server's own cache learns of it a moment later.
        const answer = await cluster().call('POST', pods, {
          metadata: { name: `late-${randomUUID().slice(0, 8)}` },
          spec: { containers: [CONTAINER] },
        })
        return answer.status !== 201 && answer
      },
      { for: 'the namespace to be known as going' },
    )

    expect(going).toMatchObject({
      status: 200,
      body: { kind: 'Namespace', status: { phase: 'Terminating' }, spec: { finalizers: ['kubernetes'] } },
    })
    expect(refused).toMatchObject({
      status: 403,
      body: {
        reason: 'Forbidden',
        message: expect.stringMatching(
          / is forbidden: unable to create new content in namespace .* terminated$/,
        ),
        details: { causes: [{ reason: 'NamespaceTerminating', field: 'metadata.namespace' }] },
      },
    })
    await cluster().until(`${pods}/web`, 'be told to end', ({ metadata }) =>
      Boolean(metadata.deletionTimestamp),
    )
    await cluster().call('PATCH', `${pods}/web`, { metadata: { finalizers: null } })
    await cluster().call('DELETE', `${pods}/web`, { gracePeriodSeconds: 0 })
    const path = `/api/v1/namespaces/${namespace}`
    await waitUntil(async () => (await cluster().call('GET', path)).status === 404, { for: 'its end' })
  })
})
