import { beforeEach, expect, it } from 'vitest'
import { CONTAINER, conditionOf, NODES, onBoth, PODS } from './conformance.js'
import { bound, count, LABELS, namesOf, nodesOf, workloadPods } from './workload-pods.js'

onBoth('the scheduler', (cluster) => {
  beforeEach(async () => {
    await cluster().clean()
  })

  const { run, untilPods } = workloadPods(cluster)

  const add = (name: string, spec: object = {}) =>
    cluster().ok('POST', PODS, {
      metadata: { name, labels: LABELS },
      spec: { containers: [CONTAINER], ...spec },
    })

  const untilPending = (name: string) =>
    cluster().until(
      `${PODS}/${name}`,
      'have no place',
      (pod) => conditionOf(pod, 'PodScheduled')?.reason === 'Unschedulable',
    )

  /** The scheduler hears of nodes and of pods one by one: it takes this node for one that takes pods. */
  const untilKnown = async (name: string) => {
    await cluster().ok('POST', PODS, {
      metadata: { name: `probe-of-${name}`, labels: { app: 'probe' } },
      spec: { containers: [CONTAINER], nodeSelector: { 'kubernetes.io/hostname': name } },
    })
    await cluster().until(`${PODS}/probe-of-${name}`, 'have a place', ({ spec }) => spec.nodeName === name)
    await cluster().ok('DELETE', `${PODS}/probe-of-${name}`, { gracePeriodSeconds: 0 })
  }

  it('spreads the pods of one controller', async () => {
    for (const name of ['n-1', 'n-2', 'n-3']) {
      await cluster().addNode(name)
      await untilKnown(name)
    }
    await run('deployments', { replicas: 3 })

    expect(nodesOf(await untilPods('three pods', (list) => count(list, 3)))).toEqual(['n-1', 'n-2', 'n-3'])
  })

  it.each([
    ['a cordon', { spec: { unschedulable: true } }],
    ['a taint', { spec: { taints: [{ key: 'special', effect: 'NoSchedule' }] } }],
    ['a taint that ends pods', { spec: { taints: [{ key: 'special', effect: 'NoExecute' }] } }],
    ['that it is not ready', { ready: 'False' }],
  ])('leaves a pod waiting for %s, and finds a place when there is one', async (_, options) => {
    await cluster().addNode('n-1', options)
    await add('web')

    const { spec, status } = await untilPending('web')
    expect(spec).not.toHaveProperty('nodeName')
    expect(status.phase).toBe('Pending')
    await cluster().addNode('n-2')
    expect(nodesOf(await untilPods('a place', bound))).toEqual(['n-2'])
  })

  it('takes a cordoned node again when the cordon is gone', async () => {
    await cluster().addNode('n-1', { spec: { unschedulable: true } })
    await add('web')
    await untilPending('web')

    await cluster().ok('PATCH', `${NODES}/n-1`, { spec: { unschedulable: false } })

    expect(nodesOf(await untilPods('a place', bound))).toEqual(['n-1'])
  })

  it('does what pods wish: labels, and expressions over them', async () => {
    await cluster().addNode('n-1', { labels: { disk: 'slow', size: '3' } })
    await cluster().addNode('n-2', { labels: { disk: 'fast', size: '9' } })
    const affinity = (expression: object) => ({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [expression] }],
          },
        },
      },
    })
    await add('a', { nodeSelector: { disk: 'slow' } })
    await add('b', affinity({ key: 'disk', operator: 'NotIn', values: ['slow'] }))
    await add('c', affinity({ key: 'size', operator: 'Lt', values: ['5'] }))
    await add('d', affinity({ key: 'disk', operator: 'In', values: ['fast', 'fastest'] }))

    const found = await untilPods('four places', (list) => count(list, 4))
    expect(found.map(({ spec }) => spec.nodeName)).toEqual(['n-1', 'n-2', 'n-1', 'n-2'])
  })

  it('prefers what pods prefer', async () => {
    for (const name of ['n-1', 'n-2', 'n-3']) await cluster().addNode(name)
    await untilKnown('n-3')
    const preference = {
      matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['n-3'] }],
    }
    const affinity = {
      nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference }] },
    }
    await add('web', { affinity })

    expect(nodesOf(await untilPods('a place', bound))).toEqual(['n-3'])
  })

  it('tolerates what pods tolerate', async () => {
    await cluster().addNode('n-1', { spec: { taints: [{ key: 'a', value: '1', effect: 'NoSchedule' }] } })
    await add('wrong', { tolerations: [{ key: 'a', operator: 'Equal', value: '2', effect: 'NoSchedule' }] })
    await untilPending('wrong')
    await add('right', { tolerations: [{ key: 'a', operator: 'Equal', value: '1' }] })

    const found = await untilPods('a place', (list) => list.some(({ spec }) => spec.nodeName))
    expect(found.map(({ metadata, spec }) => [metadata.name, spec.nodeName])).toEqual([
      ['right', 'n-1'],
      ['wrong', undefined],
    ])
  })

  it('gives nobody more than there is', async () => {
    await cluster().addNode('n-1', { capacity: { cpu: '1', memory: '1Gi', pods: '2' } })
    const wanting = (cpu: string) => ({ containers: [{ ...CONTAINER, resources: { requests: { cpu } } }] })
    await add('big', wanting('800m'))
    await cluster().until(`${PODS}/big`, 'have a place', ({ spec }) => spec.nodeName === 'n-1')
    await add('too-big', wanting('300m'))
    await untilPending('too-big')
    await add('small', wanting('100m'))
    await cluster().until(`${PODS}/small`, 'have a place', ({ spec }) => spec.nodeName === 'n-1')
    await add('third')
    await untilPending('third')

    await cluster().ok('DELETE', `${PODS}/big`, { gracePeriodSeconds: 0 })
    const left = await untilPods(
      'room for one more',
      (list) => list.filter(({ spec }) => spec.nodeName).length === 2,
    )
    expect(namesOf(left)).toEqual(['small', 'third', 'too-big'])
  })
})
