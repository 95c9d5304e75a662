import { beforeAll, expect, it } from 'vitest'
import { type ClusterUnderTest, onBoth } from './conformance.js'

const MAPS = '/api/v1/NS/configmaps'
const LEASES = '/apis/coordination.k8s.io/v1/NS/leases'

onBoth('objects', (cluster) => {
  beforeAll(async () => {
    await cluster().ok('POST', MAPS, { metadata: { name: 'taken' }, data: { a: 'b' } })
    await cluster().ok('POST', LEASES, { metadata: { name: 'taken' } })
  })

  it('get a UID, a version and a time, and lose what says nothing', async () => {
    const metadata = { name: 'whole', labels: {}, annotations: { note: 'x' }, finalizers: [] }
    const created = await cluster().call('POST', MAPS, { metadata, data: {} })

    expect(created).toMatchObject({
      status: 201,
      headers: { 'content-type': 'application/json' },
      body: {
        ...{ apiVersion: 'v1', kind: 'ConfigMap' },
        metadata: {
          ...{ name: 'whole', namespace: cluster().namespace, annotations: { note: 'x' } },
          uid: expect.stringMatching(/^[0-9a-f]{8}-/),
          resourceVersion: expect.stringMatching(/^\d+$/),
          creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        },
      },
    })
    expect(await cluster().get(`${MAPS}/whole`)).toEqual(created.body)
    for (const absent of ['metadata.labels', 'metadata.finalizers', 'data']) {
      expect(created.body).not.toHaveProperty(absent)
    }
  })

  it('get a name with five letters when they ask for one', async () => {
    const [one, other] = await Promise.all(
      [1, 2].map(() => cluster().ok('POST', MAPS, { metadata: { generateName: 'some-' } })),
    )

    expect(one?.metadata).toMatchObject({
      name: expect.stringMatching(/^some-[a-z0-9]{5}$/),
      generateName: 'some-',
    })
    expect(one?.metadata.name).not.toBe(other?.metadata.name)
  })

  it('are replaced by an update at their version, or at none, and keep what the server gave them', async () => {
    const before = await cluster().ok('POST', MAPS, { metadata: { name: 'updated' }, data: { a: 'b' } })

    const at = await cluster().call('PUT', `${MAPS}/updated`, { ...before, data: { a: 'c' } })
    const any = await cluster().ok('PUT', `${MAPS}/updated`, {
      metadata: { name: 'updated' },
      data: { a: 'd' },
    })

    expect(at.status).toBe(200)
    expect(any).toMatchObject({
      metadata: { uid: before.metadata.uid, creationTimestamp: expect.any(String) },
      data: { a: 'd' },
    })
    expect(Number(at.body.metadata.resourceVersion)).toBeGreaterThan(Number(before.metadata.resourceVersion))
    expect(Number(any.metadata.resourceVersion)).toBeGreaterThan(Number(at.body.metadata.resourceVersion))
  })

  it('keep their version when nothing changes', async () => {
    const before = await cluster().ok('POST', MAPS, { metadata: { name: 'same' }, data: { a: 'b' } })

    const put = await cluster().ok('PUT', `${MAPS}/same`, before)
    const patched = await cluster().ok('PATCH', `${MAPS}/same`, { data: { a: 'b' } })

    expect(put.metadata.resourceVersion).toBe(before.metadata.resourceVersion)
    expect(patched.metadata.resourceVersion).toBe(before.metadata.resourceVersion)
  })

  it('are only checked in a dry run', async () => {
    const created = await cluster().call('POST', `${MAPS}?dryRun=All`, { metadata: { name: 'dry' } })
    const patched = await cluster().call('PATCH', `${MAPS}/taken?dryRun=All`, { data: { a: 'dry' } })
    const deleted = await cluster().call('DELETE', `${MAPS}/taken?dryRun=All`)

    expect([created.status, patched.status, deleted.status]).toEqual([201, 200, 200])
    expect(patched.body.data).toEqual({ a: 'dry' })
    expect((await cluster().call('GET', `${MAPS}/dry`)).status).toBe(404)
    expect((await cluster().get(`${MAPS}/taken`)).data).toEqual({ a: 'b' })
  })

  it('are named in the answer to their deletion', async () => {
    const { metadata } = await cluster().ok('POST', LEASES, { metadata: { name: 'gone' } })

    expect(await cluster().call('DELETE', `${LEASES}/gone`)).toMatchObject({
      status: 200,
      body: {
        ...{ kind: 'Status', status: 'Success' },
        details: { name: 'gone', group: 'coordination.k8s.io', kind: 'leases', uid: metadata.uid },
      },
    })
    expect((await cluster().call('GET', `${LEASES}/gone`)).status).toBe(404)
  })

  it('stay until their last finalizer is taken away, and can get no other', async () => {
    const metadata = { name: 'held', finalizers: ['example.org/a'] }
    await cluster().ok('POST', MAPS, { metadata })

    const deleted = await cluster().call('DELETE', `${MAPS}/held`)
    const again = await cluster().call('DELETE', `${MAPS}/held`)
    const added = await cluster().call('PATCH', `${MAPS}/held`, {
      metadata: { finalizers: ['example.org/a', 'example.org/b'] },
    })
    const released = await cluster().call('PATCH', `${MAPS}/held`, { metadata: { finalizers: null } })

    const ending = { deletionTimestamp: expect.any(String), deletionGracePeriodSeconds: 0 }
    expect(deleted).toMatchObject({ status: 200, body: { kind: 'ConfigMap', metadata: ending } })
    expect(again).toMatchObject({ status: 200, body: { metadata: ending } })
    expect(added).toMatchObject({
      status: 422,
      body: {
        details: {
          causes: expect.arrayContaining([
            expect.objectContaining({ reason: 'FieldValueForbidden', field: 'metadata.finalizers' }),
          ]),
        },
      },
    })
    expect(released.status).toBe(200)
    expect((await cluster().call('GET', `${MAPS}/held`)).status).toBe(404)
  })

  it('are made by an update where their kind allows it', async () => {
    const body = { metadata: { name: 'made' }, spec: { holderIdentity: 'x' } }

    expect(await cluster().call('PUT', `${LEASES}/made`, body)).toMatchObject({ status: 201, body })
    await cluster().ok('DELETE', `${LEASES}/made`)
    // A version that nothing has any more does not keep it from being made again.
    const stale = { ...body, metadata: { name: 'made', resourceVersion: '1' } }
    expect((await cluster().call('PUT', `${LEASES}/made`, stale)).status).toBe(201)
  })

  it('a Lease has six digits of a second, and no time at all rather than an empty one', async () => {
    const spec = { holderIdentity: '', acquireTime: null, renewTime: '2026-01-02T03:04:05.678000Z' }

    const { spec: stored } = await cluster().ok('POST', LEASES, { metadata: { name: 'timed' }, spec })

    expect(stored).toEqual({ holderIdentity: '', renewTime: '2026-01-02T03:04:05.678000Z' })
  })

  it('all that a selector matches are deleted in one go, and given back', async () => {
    for (const name of ['some-b', 'some-a', 'other']) {
      await cluster().ok('POST', MAPS, { metadata: { name, labels: { some: String(name !== 'other') } } })
    }

    const gone = await cluster().ok('DELETE', `${MAPS}?labelSelector=some%3Dtrue`)

    expect(gone).toMatchObject({
      kind: 'ConfigMapList',
      items: [{ metadata: { name: 'some-a' } }, { metadata: { name: 'some-b' } }],
    })
    expect((await cluster().list(`${MAPS}?labelSelector=some`)).map(nameOf)).toEqual(['other'])
  })
})

function nameOf({ metadata }: Awaited<ReturnType<ClusterUnderTest['get']>>): string {
  return metadata.name
}
