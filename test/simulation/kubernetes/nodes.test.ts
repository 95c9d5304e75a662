import { beforeEach, describe, expect, it } from 'vitest'
import type { KubeObject } from '../../support/kube-api.js'
import { hasTaint, NODES, onBoth } from './conformance.js'

const UNSCHEDULABLE = 'node.kubernetes.io/unschedulable'

onBoth('nodes', (cluster) => {
  beforeEach(async () => {
    await cluster().clean()
  })

  const patch = (change: object, part = '') => cluster().ok('PATCH', `${NODES}/n-1${part}`, change)

  it('begin with a taint that keeps pods away, and the boot id they say', async () => {
    const created = await cluster().ok('POST', NODES, {
      metadata: { name: 'n-1', labels: { 'kubernetes.io/os': 'linux' } },
      spec: { providerID: 'sim://n-1' },
      status: { nodeInfo: { bootID: 'first' }, conditions: [{ type: 'Ready', status: 'False' }] },
    })

    expect(created).toMatchObject({
      spec: {
        providerID: 'sim://n-1',
        taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }],
      },
      status: { nodeInfo: { bootID: 'first', kubeletVersion: '' }, conditions: [{ type: 'Ready' }] },
    })
    expect(created.spec).not.toHaveProperty('unschedulable')
    // Two controllers note it, each in its own time: the labels are no sign that the annotation is there.
    const noted = await cluster().until(
      `${NODES}/n-1`,
      'be noted',
      ({ metadata }) =>
        Boolean(metadata.labels?.['beta.kubernetes.io/os']) &&
        Boolean(metadata.annotations?.['node.alpha.kubernetes.io/ttl']),
    )
    expect(noted.metadata).toMatchObject({
      labels: { 'beta.kubernetes.io/os': 'linux' },
      annotations: { 'node.alpha.kubernetes.io/ttl': '0' },
    })
  })

  it('have the taint of a cordon as long as the cordon, and taints of others untouched', async () => {
    await cluster().addNode('n-1', { spec: { taints: [{ key: 'mine', value: '1', effect: 'NoExecute' }] } })

    await patch({ spec: { unschedulable: true } })
    const cordoned = await cluster().until(`${NODES}/n-1`, 'be tainted', (node) =>
      hasTaint(node, UNSCHEDULABLE),
    )
    await patch({ spec: { unschedulable: false } })
    const free = await cluster().until(`${NODES}/n-1`, 'be free', (node) => !hasTaint(node, UNSCHEDULABLE))

    expect(cordoned.spec).toMatchObject({
      unschedulable: true,
      taints: [
        { key: 'mine', value: '1', effect: 'NoExecute' },
        { key: UNSCHEDULABLE, effect: 'NoSchedule', timeAdded: expect.any(String) },
      ],
    })
    expect(free.spec).toEqual({ taints: [{ key: 'mine', value: '1', effect: 'NoExecute' }] })
  })

  it('that are not ready are tainted, and no longer when they are', async () => {
    await cluster().addNode('n-1')
    const say = (status: string) => patch({ status: { conditions: [{ type: 'Ready', status }] } }, '/status')
    const has = (key: string) => (node: KubeObject) => hasTaint(node, `node.kubernetes.io/${key}`)

    await say('False')
    await cluster().until(`${NODES}/n-1`, 'be tainted', has('not-ready'))
    await say('Unknown')
    await cluster().until(`${NODES}/n-1`, 'be tainted otherwise', has('unreachable'))
    await say('True')

    const node = await cluster().until(`${NODES}/n-1`, 'be free', ({ spec }) => spec.taints === undefined)
    expect(node.spec).toEqual({})
  })

  describe('the two paths', () => {
    it('/status changes no spec, and labels it does', async () => {
      await cluster().addNode('n-1')

      const { metadata, spec, status } = await patch(
        {
          metadata: { labels: { seen: '1' } },
          spec: { unschedulable: true },
          status: { nodeInfo: { bootID: 'second' } },
        },
        '/status',
      )

      expect(metadata.labels).toMatchObject({ seen: '1' })
      expect(spec).not.toHaveProperty('unschedulable')
      expect(status).toMatchObject({ nodeInfo: { bootID: 'second' }, conditions: [{ type: 'Ready' }] })
    })

    it('the node itself changes no status', async () => {
      await cluster().addNode('n-1')

      const { spec, status } = await patch({
        spec: { unschedulable: true },
        status: { conditions: [{ type: 'Ready', status: 'False' }] },
      })

      expect(spec).toMatchObject({ unschedulable: true })
      expect(status.conditions).toMatchObject([{ type: 'Ready', status: 'True' }])
    })
  })

  it('keep the providerID they once had', async () => {
    await cluster().addNode('n-1')
    await patch({ spec: { providerID: 'sim://a' } })

    const answer = await cluster().call('PATCH', `${NODES}/n-1`, { spec: { providerID: 'sim://b' } })

    expect(answer).toMatchObject({
      status: 422,
      body: {
        reason: 'Invalid',
        message:
          'Node "n-1" is invalid: spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
        details: { causes: [{ reason: 'FieldValueForbidden', field: 'spec.providerID' }] },
      },
    })
  })

  it('write amounts in one way', async () => {
    await cluster().addNode('n-1')
    const amounts = {
      ...{ cpu: '1000m', memory: '1.5Gi', 'ephemeral-storage': '8388608Ki', pods: 110 },
      ...{ 'example.com/thousand': '1000', 'example.com/exact': '107374182400', 'example.com/none': '0' },
      ...{ 'example.com/exponent': '1e3', 'example.com/odd': '1536Ki' },
      ...{ 'example.com/many': '12E', 'example.com/small': '1000000u' },
    }

    const { status } = await patch({ status: { capacity: amounts } }, '/status')

    expect(status.capacity).toEqual({
      ...{ cpu: '1', memory: '1536Mi', 'ephemeral-storage': '8Gi', pods: '110' },
      ...{ 'example.com/thousand': '1k', 'example.com/exact': '107374182400', 'example.com/none': '0' },
      ...{ 'example.com/exponent': '1e3', 'example.com/odd': '1536Ki' },
      ...{ 'example.com/many': '12E', 'example.com/small': '1' },
    })
  })

  it('let pods have everything when they do not say how much', async () => {
    const { status } = await cluster().addNode('n-1')

    expect(status.allocatable).toEqual(status.capacity)
  })

  it('refuse an amount that is none', async () => {
    await cluster().addNode('n-1')
    const change = { status: { capacity: { cpu: 'much' } } }

    expect(await cluster().call('PATCH', `${NODES}/n-1/status`, change)).toMatchObject({
      status: 422,
      body: { reason: 'Invalid', details: { causes: [{ field: 'patch' }] } },
    })
  })

  it('write times in whole seconds, and nothing where there is none', async () => {
    await cluster().addNode('n-1')
    const ready = { type: 'Ready', status: 'True', lastHeartbeatTime: '2026-01-02T03:04:05.678Z' }

    const { status } = await patch({ status: { conditions: [ready] } }, '/status')

    expect(status.conditions).toMatchObject([
      { ...ready, lastHeartbeatTime: '2026-01-02T03:04:05Z', lastTransitionTime: null },
    ])
  })

  it('take their Leases and what belonged to them along', async () => {
    const { metadata } = await cluster().addNode('n-1')
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name: 'n-1', uid: metadata.uid }]
    await cluster().addPod('mirror', 'n-1', { metadata: { ownerReferences } })
    await cluster().addPod('other', 'n-1')

    await cluster().ok('DELETE', `${NODES}/n-1`)

    const pods = '/api/v1/namespaces/default/pods'
    await cluster().until(pods, 'lose the mirror pod', ({ items }) =>
      (items as KubeObject[]).every(
        (pod) => pod.metadata.name !== 'mirror' || pod.metadata.deletionTimestamp !== undefined,
      ),
    )
    const left = await cluster().list(pods)
    expect(left.find((pod) => pod.metadata.name === 'other')?.metadata.deletionTimestamp).toBeUndefined()
  })
})
