import { beforeAll, describe, expect, it } from 'vitest'
import { type ClusterUnderTest, onBoth } from './conformance.js'

const MAPS = '/api/v1/NS/configmaps'
const LEASES = '/apis/coordination.k8s.io/v1/NS/leases'
const UID = '00000000-0000-0000-0000-000000000000'

/** A title, the request, and as much of the answer as matters. */
type Row = readonly [
  string,
  [method: string, path: string, body?: object, contentType?: string],
  number,
  object,
]

const failure = (reason: string, message: RegExp | string, details?: object) => ({
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  reason,
  message: typeof message === 'string' ? message : expect.stringMatching(message),
  ...(details === undefined ? {} : { details }),
})

const cause = (reason: string, field: string) =>
  expect.arrayContaining([expect.objectContaining({ reason, field })])

const REFUSED: readonly Row[] = [
  [
    'what does not exist',
    ['GET', `${MAPS}/none`],
    404,
    failure('NotFound', 'configmaps "none" not found', { name: 'none', kind: 'configmaps' }),
  ],
  [
    'what does not exist in a group',
    ['GET', `${LEASES}/none`],
    404,
    failure('NotFound', 'leases.coordination.k8s.io "none" not found', {
      ...{ name: 'none', group: 'coordination.k8s.io', kind: 'leases' },
    }),
  ],
  [
    'a name that is taken',
    ['POST', MAPS, { metadata: { name: 'taken' } }],
    409,
    failure('AlreadyExists', 'configmaps "taken" already exists', { name: 'taken', kind: 'configmaps' }),
  ],
  [
    'no name',
    ['POST', MAPS, { metadata: {} }],
    422,
    failure(
      'Invalid',
      'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
      {
        kind: 'ConfigMap',
        causes: cause('FieldValueRequired', 'metadata.name'),
      },
    ),
  ],
  [
    'a name that is none',
    ['POST', MAPS, { metadata: { name: 'No_Name' } }],
    422,
    failure(
      'Invalid',
      /^ConfigMap "No_Name" is invalid: metadata.name: Invalid value: "No_Name": a lowercase RFC 1123/,
      {
        ...{ name: 'No_Name', kind: 'ConfigMap' },
        causes: cause('FieldValueInvalid', 'metadata.name'),
      },
    ),
  ],
  [
    'a label that is none',
    ['POST', MAPS, { metadata: { name: 'fine', labels: { app: 'two words' } } }],
    422,
    failure('Invalid', /^ConfigMap "fine" is invalid: .*Invalid value: "two words"/, {
      ...{ name: 'fine', kind: 'ConfigMap' },
      causes: cause('FieldValueInvalid', 'metadata.labels'),
    }),
  ],
  [
    'a label that is no text',
    ['POST', MAPS, { metadata: { name: 'fine', labels: { app: 1 } } }],
    400,
    failure('BadRequest', /cannot unmarshal number/),
  ],
  [
    'a version on a new object',
    ['POST', MAPS, { metadata: { name: 'fine', resourceVersion: '7' } }],
    500,
    { message: 'resourceVersion should not be set on objects to be created' },
  ],
  [
    'another kind than the path says',
    ['POST', MAPS, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'fine' } }],
    400,
    failure('BadRequest', /^Pod in version "v1" cannot be handled as a ConfigMap/),
  ],
  ['no body', ['POST', MAPS], 400, failure('BadRequest', /must be of type ConfigMap/)],
  [
    'data that is no text',
    ['POST', MAPS, { metadata: { name: 'fine' }, data: { a: 1 } }],
    400,
    failure(
      'BadRequest',
      /^ConfigMap in version "v1" cannot be handled as a ConfigMap: .*cannot unmarshal number/,
    ),
  ],
  [
    'another namespace than the path says',
    ['POST', MAPS, { metadata: { name: 'fine', namespace: 'kube-system' } }],
    400,
    failure(
      'BadRequest',
      'the namespace of the provided object does not match the namespace sent on the request',
    ),
  ],
  [
    'a namespace that does not exist',
    ['POST', '/api/v1/namespaces/nowhere/configmaps', { metadata: { name: 'fine' } }],
    404,
    failure('NotFound', 'namespaces "nowhere" not found', { name: 'nowhere', kind: 'namespaces' }),
  ],
  [
    'an update of what does not exist',
    ['PUT', `${MAPS}/none`, { metadata: { name: 'none' } }],
    404,
    failure('NotFound', 'configmaps "none" not found'),
  ],
  [
    'an update of an older version',
    ['PUT', `${MAPS}/taken`, { metadata: { name: 'taken', resourceVersion: '1' } }],
    409,
    failure(
      'Conflict',
      'Operation cannot be fulfilled on configmaps "taken": the object has been modified; please apply your changes to the latest version and try again',
      { name: 'taken', kind: 'configmaps' },
    ),
  ],
  [
    'an update of another object of that name',
    ['PUT', `${MAPS}/taken`, { metadata: { name: 'taken', uid: UID } }],
    409,
    failure('Conflict', /Precondition failed: UID in precondition/, { name: 'taken', kind: 'configmaps' }),
  ],
  [
    'an update under another name',
    ['PUT', `${MAPS}/taken`, { metadata: { name: 'other' } }],
    400,
    failure('BadRequest', 'the name of the object (other) does not match the name on the URL (taken)'),
  ],
  [
    'an update without a name',
    ['PUT', `${MAPS}/taken`, {}],
    400,
    failure('BadRequest', /name must be provided/),
  ],
  [
    'an update without a version, of a kind that wants one',
    ['PUT', `${LEASES}/taken`, { metadata: { name: 'taken' } }],
    422,
    failure('Invalid', /leases.coordination.k8s.io "taken" is invalid: .*must be specified for an update/, {
      ...{ name: 'taken', group: 'coordination.k8s.io', kind: 'leases' },
      causes: cause('FieldValueInvalid', 'metadata.resourceVersion'),
    }),
  ],
  [
    'an update that knows a UID, of what does not exist, of a kind that updates make',
    ['PUT', `${LEASES}/none`, { metadata: { name: 'none', uid: UID, resourceVersion: '1' } }],
    409,
    failure('Conflict', /Precondition failed: UID in precondition/),
  ],
  [
    'a body that is no JSON by its content type',
    ['POST', MAPS, { metadata: { name: 'fine' } }, 'text/plain'],
    415,
    failure('UnsupportedMediaType', /./),
  ],
  [
    'a deletion of what does not exist',
    ['DELETE', `${MAPS}/none`],
    404,
    failure('NotFound', 'configmaps "none" not found'),
  ],
  [
    'a deletion of another object of that name',
    ['DELETE', `${MAPS}/taken`, { preconditions: { uid: UID } }],
    409,
    failure('Conflict', /^Operation cannot be fulfilled on ConfigMap "taken": the UID in the precondition/, {
      ...{ name: 'taken', kind: 'ConfigMap' },
    }),
  ],
  [
    'a deletion of an older version',
    ['DELETE', `${MAPS}/taken`, { preconditions: { resourceVersion: '1' } }],
    409,
    failure('Conflict', /the ResourceVersion in the precondition \(1\) does not match/),
  ],
  [
    'a namespace of the system',
    ['DELETE', '/api/v1/namespaces/kube-system'],
    403,
    failure('Forbidden', 'namespaces "kube-system" is forbidden: this namespace may not be deleted'),
  ],
  [
    'a new object under the name of one',
    ['POST', `${MAPS}/taken`, { metadata: { name: 'taken' } }],
    405,
    failure('MethodNotAllowed', 'the server does not allow this method on the requested resource'),
  ],
  ['all pods of all namespaces', ['DELETE', '/api/v1/pods'], 405, failure('MethodNotAllowed', /./)],
  [
    'a kind that there is not',
    ['GET', '/api/v1/nothings'],
    404,
    failure('NotFound', 'the server could not find the requested resource', {}),
  ],
  ['a part that there is not', ['GET', `${MAPS}/taken/part`], 404, failure('NotFound', /could not find/)],
  [
    'a time without six digits in a Lease',
    ['POST', LEASES, { metadata: { name: 'fine' }, spec: { renewTime: '2026-01-02T03:04:05Z' } }],
    400,
    failure('BadRequest', /^Lease in version "v1" cannot be handled as a Lease: parsing time/),
  ],
]

onBoth('objects', (cluster) => {
  beforeAll(async () => {
    await cluster().ok('POST', MAPS, { metadata: { name: 'taken' }, data: { a: 'b' } })
    await cluster().ok('POST', LEASES, { metadata: { name: 'taken' } })
  })

  describe('are refused', () => {
    it.each(REFUSED)('%s', async (_, [method, path, body, contentType], status, expected) => {
      const answer = await cluster().call(method, path, body, contentType)

      expect(answer).toMatchObject({ status, body: { ...expected, code: status } })
    })

    it.each(['/apis/nothing.example/v1/things', '/nothing'])('a path that there is not: %s', async (path) => {
      expect(await cluster().call('GET', path)).toMatchObject({ status: 404, text: '404 page not found\n' })
    })
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
      body: { details: { causes: cause('FieldValueForbidden', 'metadata.finalizers') } },
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
