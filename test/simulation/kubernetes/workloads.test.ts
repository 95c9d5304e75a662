import { beforeEach, describe, expect, it } from 'vitest'
import type { KubeObject } from '../../support/kube-api.js'
import { waitUntil } from '../../support/wait.js'
import { CONTAINER, conditionOf, onBoth, PODS, WORKLOADS } from './conformance.js'
import { count, LABELS, namesOf, nodesOf, workloadPods } from './workload-pods.js'

onBoth('workloads', (cluster) => {
  beforeEach(async () => {
    await cluster().clean()
  })

  const { run, pods, untilPods } = workloadPods(cluster)

  describe('a Deployment', () => {
    it('has its pods through a ReplicaSet, and says how many are ready', async () => {
      await cluster().addNode('n-1')
      const { status: begun } = await run('deployments', { replicas: 2 })
      const found = await untilPods('two pods on nodes', (list) => count(list, 2))

      const [set] = await cluster().list(`${WORKLOADS}/replicasets`)
      const hash = set?.metadata.labels?.['pod-template-hash']
      expect(begun).toEqual({})
      expect(set?.metadata).toMatchObject({
        name: `web-${hash}`,
        ownerReferences: [{ kind: 'Deployment', name: 'web', controller: true }],
      })
      for (const { metadata } of found) {
        expect(metadata).toMatchObject({
          name: expect.stringMatching(new RegExp(`^web-${hash}-[a-z0-9]{5}$`)),
          labels: { ...LABELS, 'pod-template-hash': hash },
          ownerReferences: [
            { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: set?.metadata.name, controller: true },
          ],
        })
      }
      for (const { metadata } of found) await cluster().sayRunning(metadata.name)
      const deployment = await cluster().until(
        `${WORKLOADS}/deployments/web`,
        'be ready',
        ({ status }) => status.readyReplicas === 2,
      )
      expect(deployment.status).toMatchObject({
        ...{ observedGeneration: 1, replicas: 2, updatedReplicas: 2, availableReplicas: 2 },
      })
      expect(conditionOf(deployment, 'Available')).toMatchObject({ status: 'True' })
    })

    it('replaces a pod as soon as it is to end, not when it has ended', async () => {
      await cluster().addNode('n-1')
      await run('deployments', { replicas: 1 }, { terminationGracePeriodSeconds: 30 })
      const [old] = await untilPods('a pod', (list) => count(list, 1))

      await cluster().evict(old?.metadata.name ?? '')
      const both = await untilPods('another', (list) => count(list, 2))

      expect(
        both.filter(({ metadata }) => metadata.deletionTimestamp).map(({ metadata }) => metadata.uid),
      ).toEqual([old?.metadata.uid])
    })

    it('grows and shrinks, by those that are of least use', async () => {
      await cluster().addNode('n-1')
      await run('deployments', { replicas: 3 })
      const found = await untilPods('three pods', (list) => count(list, 3))
      await cluster().sayRunning(found[1]?.metadata.name ?? '')
      await cluster().until(
        `${WORKLOADS}/deployments/web`,
        'have one ready',
        ({ status }) => status.readyReplicas === 1,
      )
      const scale = (replicas: number) =>
        cluster().ok('PATCH', `${WORKLOADS}/deployments/web`, { spec: { replicas } })

      await scale(1)

      expect(namesOf(await untilPods('one pod', (list) => list.length === 1))).toEqual([
        found[1]?.metadata.name,
      ])
      await scale(2)
      expect(await untilPods('two pods', (list) => count(list, 2))).toHaveLength(2)
    })

    it('goes over to another template pod by pod, never below what must be there', async () => {
      await cluster().addNode('n-1')
      const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }
      await run('deployments', { replicas: 2, strategy })
      const old = await untilPods('two pods', (list) => count(list, 2))
      for (const { metadata } of old) await cluster().sayRunning(metadata.name)
      await cluster().until(
        `${WORKLOADS}/deployments/web`,
        'be ready',
        ({ status }) => status.readyReplicas === 2,
      )

      const containers = [{ ...CONTAINER, image: 'registry.example/app:2' }]
      await cluster().ok('PATCH', `${WORKLOADS}/deployments/web`, {
        spec: { template: { spec: { containers } } },
      })
      const isNew = ({ spec }: KubeObject) => spec.containers[0].image.endsWith(':2')
      const three = await untilPods('one pod more', (list) => count(list, 3))
      expect(three.filter(isNew)).toHaveLength(1)
      await waitUntil(
        async () => {
          const list = await pods()
          for (const pod of list.filter((one) => isNew(one) && !conditionOf(one, 'Ready'))) {
            await cluster().sayRunning(pod.metadata.name)
          }
          return list.length === 2 && list.every(isNew)
        },
        { for: 'the new pods alone', timeoutMs: 15_000 },
      )
    })

    it('takes what it owns along', async () => {
      await cluster().addNode('n-1')
      await run('deployments', { replicas: 2 })
      await untilPods('two pods', (list) => count(list, 2))

      await cluster().ok('DELETE', `${WORKLOADS}/deployments/web`)

      await untilPods('none', (list) => list.length === 0)
      expect(await cluster().list(`${WORKLOADS}/replicasets`)).toEqual([])
    })

    it.each([
      [
        'whose selector is not that of its pods',
        { selector: { matchLabels: { app: 'api' } } },
        'spec.template.metadata.labels',
      ],
      ['without a selector', { selector: null }, 'spec.selector'],
    ])('is refused %s', async (_, spec, field) => {
      const template = { metadata: { labels: LABELS }, spec: { containers: [CONTAINER] } }

      const answer = await cluster().call('POST', `${WORKLOADS}/deployments`, {
        metadata: { name: 'web' },
        spec: { template, ...spec },
      })

      expect(answer).toMatchObject({
        status: 422,
        body: { reason: 'Invalid', details: { group: 'apps', kind: 'Deployment' } },
      })
      expect(answer.body.details.causes.map((cause: { field: string }) => cause.field)).toContain(field)
    })

    it('keeps its selector', async () => {
      await run('deployments', { replicas: 0 })
      const spec = { selector: { matchLabels: { app: 'api' } } }

      const answer = await cluster().call('PATCH', `${WORKLOADS}/deployments/web`, { spec })

      expect(answer).toMatchObject({
        status: 422,
        body: { message: expect.stringMatching(/spec.selector: .*field is immutable/) },
      })
    })
  })

  describe('a StatefulSet', () => {
    it('makes its pods one after the other, each with its name', async () => {
      await cluster().addNode('n-1')
      await run('statefulsets', { replicas: 2, serviceName: 'web' })
      await untilPods('the first', (list) => count(list, 1))

      await cluster().sayRunning('web-0')
      const both = await untilPods('the second', (list) => count(list, 2))

      expect(namesOf(both)).toEqual(['web-0', 'web-1'])
      expect(both[0]).toMatchObject({
        metadata: {
          labels: { 'statefulset.kubernetes.io/pod-name': 'web-0', 'apps.kubernetes.io/pod-index': '0' },
          ownerReferences: [{ kind: 'StatefulSet', name: 'web', controller: true }],
        },
        spec: { hostname: 'web-0', subdomain: 'web' },
      })
    })

    it('makes a pod again under its name, when the one before is gone and not sooner', async () => {
      await cluster().addNode('n-1')
      const spec = { replicas: 1, serviceName: 'web' }
      await run('statefulsets', spec, { terminationGracePeriodSeconds: 30 })
      const [old] = await untilPods('a pod', (list) => count(list, 1))
      await cluster().sayRunning('web-0')

      await cluster().evict('web-0')
      // By then the controller has gone on to somebody else's.
      await cluster().ok('POST', `${WORKLOADS}/statefulsets`, {
        metadata: { name: 'other' },
        spec: {
          serviceName: 'other',
          selector: { matchLabels: { app: 'other' } },
          template: { metadata: { labels: { app: 'other' } }, spec: { containers: [CONTAINER] } },
        },
      })
      await cluster().until(`${PODS}/other-0`, 'be there', () => true)
      const ending = await pods()
      const { uid } = old?.metadata ?? {}
      await cluster().ok('DELETE', `${PODS}/web-0`, { gracePeriodSeconds: 0, preconditions: { uid } })

      expect(ending.map(({ metadata }) => metadata.uid)).toEqual([uid])
      const [fresh] = await untilPods(
        'its successor',
        (list) => count(list, 1) && list[0]?.metadata.uid !== uid,
      )
      expect(fresh?.metadata).toMatchObject({ name: 'web-0' })
    })

    it('makes all at once, and the others while one is missing, when order does not matter', async () => {
      await cluster().addNode('n-1')
      await run('statefulsets', { replicas: 3, serviceName: 'web', podManagementPolicy: 'Parallel' })

      expect(namesOf(await untilPods('three pods', (list) => count(list, 3)))).toEqual([
        'web-0',
        'web-1',
        'web-2',
      ])
    })
  })

  describe('a DaemonSet', () => {
    it('has a pod on every node it may run on, cordoned ones too, and on new ones', async () => {
      const spec = { taints: [{ key: 'special', effect: 'NoSchedule' }] }
      await cluster().addNode('n-1')
      await cluster().addNode('n-2', { spec: { unschedulable: true } })
      await cluster().addNode('n-3', { spec })
      await run('daemonsets')
      const found = await untilPods('two pods', (list) => count(list, 2))

      await cluster().addNode('n-4')
      const more = await untilPods('a third', (list) => count(list, 3))

      expect(nodesOf(found)).toEqual(['n-1', 'n-2'])
      expect(nodesOf(more)).toEqual(['n-1', 'n-2', 'n-4'])
      expect(found[0]?.metadata).toMatchObject({
        name: expect.stringMatching(/^web-[a-z0-9]{5}$/),
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'web', controller: true }],
      })
      const { status } = await cluster().until(
        `${WORKLOADS}/daemonsets/web`,
        'count three',
        (set) => set.status.currentNumberScheduled === 3,
      )
      expect(status).toMatchObject({ desiredNumberScheduled: 3, numberReady: 0, observedGeneration: 1 })
    })

    it('runs where its pods want to, and tolerates what they tolerate', async () => {
      const spec = { taints: [{ key: 'special', effect: 'NoSchedule' }] }
      await cluster().addNode('n-1', { spec })
      await cluster().addNode('n-2', { labels: { disk: 'fast' }, spec })
      await run('daemonsets', {}, { nodeSelector: { disk: 'fast' }, tolerations: [{ operator: 'Exists' }] })

      expect(nodesOf(await untilPods('one pod', (list) => count(list, 1)))).toEqual(['n-2'])
    })

    it('replaces a pod when it is gone, on the same node', async () => {
      await cluster().addNode('n-1')
      await run('daemonsets')
      const [old] = await untilPods('a pod', (list) => count(list, 1))

      await cluster().ok('DELETE', `${PODS}/${old?.metadata.name}`)

      const [fresh] = await untilPods(
        'another',
        (list) => count(list, 1) && list[0]?.metadata.uid !== old?.metadata.uid,
      )
      expect(fresh?.spec.nodeName).toBe('n-1')
    })
  })
})
