import { beforeAll, expect, it } from 'vitest'
import { onBoth } from './conformance.js'

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

onBoth('objects that are refused', (cluster) => {
  beforeAll(async () => {
    await cluster().ok('POST', MAPS, { metadata: { name: 'taken' }, data: { a: 'b' } })
    await cluster().ok('POST', LEASES, { metadata: { name: 'taken' } })
  })

  it.each(REFUSED)('%s', async (_, [method, path, body, contentType], status, expected) => {
    const answer = await cluster().call(method, path, body, contentType)

    expect(answer).toMatchObject({ status, body: { ...expected, code: status } })
  })

  it.each(['/apis/nothing.example/v1/things', '/nothing'])('a path that there is not: %s', async (path) => {
    expect(await cluster().call('GET', path)).toMatchObject({ status: 404, text: '404 page not found\n' })
  })
})
