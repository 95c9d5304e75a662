import { beforeEach, describe, expect, it } from 'vitest'
import { APPLY, CONTAINER, JSON_PATCH, MERGE, NODES, onBoth, STRATEGIC, WORKLOADS } from './conformance.js'

const MAPS = '/api/v1/NS/configmaps'
const INVALID_PATCH = {
  reason: 'Invalid',
  message: 'the server rejected our request due to an error in our request',
}

onBoth('patches', (cluster) => {
  beforeEach(async () => {
    await cluster().clean()
    await cluster().call('DELETE', `${MAPS}/patched`)
    await cluster().ok('POST', MAPS, {
      metadata: { name: 'patched', labels: { a: '1', b: '2' } },
      data: { x: 'y' },
    })
  })

  const patch = (body: unknown, contentType: string, name = 'patched') =>
    cluster().call('PATCH', `${MAPS}/${name}`, body, contentType)

  describe('of a content type', () => {
    it.each(['application/json', 'text/plain', 'application/json-patch'])('%s are refused', async (type) => {
      expect(await patch({ data: { x: 'z' } }, type)).toMatchObject({
        status: 415,
        body: { reason: 'UnsupportedMediaType' },
      })
    })

    it('that their body does not fit are refused', async () => {
      expect(await patch({ data: {} }, JSON_PATCH)).toMatchObject({
        status: 400,
        body: { reason: 'BadRequest', message: expect.stringMatching(/^error decoding patch/) },
      })
    })
  })

  it('merge: null takes away, the rest stays', async () => {
    expect(await patch({ metadata: { labels: { a: null, c: '3' } }, data: { z: '1' } }, MERGE)).toMatchObject(
      {
        status: 200,
        body: { metadata: { labels: { b: '2', c: '3' } }, data: { x: 'y', z: '1' } },
      },
    )
  })

  it.each([
    ['an older version', { resourceVersion: '1' }, 409, { reason: 'Conflict' }],
    ['another name', { name: 'other' }, 400, { reason: 'BadRequest' }],
    ['another UID', { uid: '00000000-0000-0000-0000-000000000000' }, 422, { reason: 'Invalid' }],
    ['a label that is no text', { labels: { a: 1 } }, 422, { reason: 'Invalid' }],
  ])('are refused that mean %s', async (_, metadata, status, body) => {
    expect(await patch({ metadata }, MERGE)).toMatchObject({ status, body })
    expect((await cluster().get(`${MAPS}/patched`)).metadata.labels).toEqual({ a: '1', b: '2' })
  })

  it('change nothing that is the server’s', async () => {
    const { metadata } = await cluster().get(`${MAPS}/patched`)
    const changes = { creationTimestamp: '2020-01-01T00:00:00Z', generation: 7, uid: null }

    const changed = await patch({ metadata: changes }, MERGE)
    const ending = await patch({ metadata: { deletionTimestamp: '2020-01-01T00:00:00Z' } }, MERGE)

    expect(changed).toMatchObject({ status: 200, body: { metadata } })
    expect(ending).toMatchObject({ status: 422, body: { reason: 'Invalid' } })
  })

  it('of what does not exist are refused', async () => {
    expect(await patch({ data: {} }, MERGE, 'none')).toMatchObject({
      status: 404,
      body: { reason: 'NotFound' },
    })
  })

  describe('as lists of operations', () => {
    it('do one after the other', async () => {
      const operations = [
        { op: 'test', path: '/metadata/labels/a', value: '1' },
        { op: 'replace', path: '/metadata/labels/a', value: '9' },
        { op: 'add', path: '/metadata/labels/example.org~1c', value: '3' },
        { op: 'remove', path: '/metadata/labels/b' },
        { op: 'replace', path: '/metadata/labels/new', value: '4' },
        { op: 'copy', from: '/data/x', path: '/data/copied' },
        { op: 'move', from: '/data/x', path: '/data/moved' },
      ]

      expect(await patch(operations, JSON_PATCH)).toMatchObject({
        status: 200,
        body: {
          metadata: { labels: { a: '9', 'example.org/c': '3', new: '4' } },
          data: { copied: 'y', moved: 'y' },
        },
      })
    })

    it.each([
      ['a test that fails', { op: 'test', path: '/data/x', value: 'z' }],
      ['something to remove that is not there', { op: 'remove', path: '/data/none' }],
      ['something to replace where there is no place', { op: 'replace', path: '/none/x', value: '1' }],
      ['something to add where there is no place', { op: 'add', path: '/none/x', value: '1' }],
      ['a word that is none', { op: 'nothing', path: '/data/x' }],
    ])('are refused with %s', async (_, operation) => {
      expect(await patch([operation], JSON_PATCH)).toMatchObject({ status: 422, body: INVALID_PATCH })
    })

    it('add to a list at a place and at its end', async () => {
      await cluster().addNode('n-1')
      const taint = (key: string) => ({ key, effect: 'NoSchedule' })
      const operations = [
        { op: 'add', path: '/spec/taints', value: [taint('b')] },
        { op: 'add', path: '/spec/taints/0', value: taint('a') },
        { op: 'add', path: '/spec/taints/-', value: taint('c') },
      ]

      const { body } = await cluster().call('PATCH', `${NODES}/n-1`, operations, JSON_PATCH)

      expect(body.spec.taints.map(({ key }: { key: string }) => key)).toEqual(['a', 'b', 'c'])
    })
  })

  describe('of Kubernetes’ own kind', () => {
    it('merge conditions by type, new ones first', async () => {
      await cluster().addNode('n-1')
      const status = { conditions: [{ type: 'DiskPressure', status: 'False' }] }

      const { body } = await cluster().call('PATCH', `${NODES}/n-1/status`, { status }, STRATEGIC)

      expect(body.status.conditions).toMatchObject([
        { type: 'DiskPressure', status: 'False' },
        { type: 'Ready', status: 'True' },
      ])
    })

    it('replace taints whole', async () => {
      await cluster().addNode('n-1')
      const taints = (key: string) => ({ spec: { taints: [{ key, effect: 'NoSchedule' }] } })
      await cluster().ok('PATCH', `${NODES}/n-1`, taints('a'), STRATEGIC)

      const { body } = await cluster().call('PATCH', `${NODES}/n-1`, taints('b'), STRATEGIC)

      expect(body.spec.taints).toMatchObject([{ key: 'b', effect: 'NoSchedule' }])
    })

    it('merge containers by name, unite finalizers, and delete what they say', async () => {
      const labels = { app: 'merged' }
      const spec = { containers: [CONTAINER, { ...CONTAINER, name: 'side' }] }
      await cluster().ok('POST', `${WORKLOADS}/replicasets`, {
        metadata: { name: 'merged', finalizers: ['example.org/a'] },
        spec: { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
      })
      const containers = [
        { name: 'side', $patch: 'delete' },
        { name: 'main', image: 'registry.example/app:2' },
      ]

      const { body } = await cluster().call(
        'PATCH',
        `${WORKLOADS}/replicasets/merged`,
        {
          metadata: {
            finalizers: ['example.org/b'],
            '$deleteFromPrimitiveList/finalizers': ['example.org/a'],
          },
          spec: { template: { spec: { containers } } },
        },
        STRATEGIC,
      )

      expect(body.metadata.finalizers).toEqual(['example.org/b'])
      expect(body.spec.template.spec.containers).toMatchObject([
        { name: 'main', image: 'registry.example/app:2', terminationMessagePolicy: 'File' },
      ])
    })
  })

  describe('that apply', () => {
    const map = (x: string) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'applied' },
      data: { x },
    })

    it('make what is not there, and change what is', async () => {
      const path = `${MAPS}/applied?fieldManager=test&force=true`

      expect(await cluster().call('PATCH', path, map('1'), APPLY)).toMatchObject({
        status: 201,
        body: map('1'),
      })
      expect(await cluster().call('PATCH', path, map('2'), APPLY)).toMatchObject({
        status: 200,
        body: map('2'),
      })
    })

    it('must say for whom', async () => {
      expect(await cluster().call('PATCH', `${MAPS}/applied`, map('1'), APPLY)).toMatchObject({
        status: 422,
        body: { reason: 'Invalid', message: expect.stringMatching(/fieldManager: Required value/) },
      })
    })
  })
})
