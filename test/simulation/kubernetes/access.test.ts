import { beforeAll, describe, expect, it } from 'vitest'
import { grantNoderoll } from '../../providers/kubernetes/bed.js'
import { waitUntil } from '../../support/wait.js'
import { BUDGETS, NODES, onBoth, PODS } from './conformance.js'

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'
const MAPS = '/api/v1/namespaces/kube-system/configmaps'

onBoth('access', (cluster) => {
  beforeAll(async () => {
    await cluster().addNode('n-1')
  })

  const as = (user: string) => cluster().kube.apiOf(user)

  const callAs = async (user: string, method: string, path: string, body?: object) => {
    const api = as(user)
    const answer = await api.call(method, path, body)
    api.close()
    return answer
  }

  describe('without rights', () => {
    it.each([
      [
        ['GET', NODES],
        'nodes is forbidden: User "noderoll" cannot list resource "nodes" in API group "" at the cluster scope',
        { kind: 'nodes' },
      ],
      [
        ['PATCH', `${NODES}/n-1`],
        'nodes "n-1" is forbidden: User "noderoll" cannot patch resource "nodes" in API group "" at the cluster scope',
        { name: 'n-1', kind: 'nodes' },
      ],
      [
        ['GET', `${PODS}?watch=true`],
        'pods is forbidden: User "noderoll" cannot watch resource "pods" in API group "" in the namespace "default"',
        { kind: 'pods' },
      ],
      [
        ['POST', `${PODS}/web/eviction`],
        'pods "web" is forbidden: User "noderoll" cannot create resource "pods/eviction" in API group "" in the namespace "default"',
        { name: 'web', kind: 'pods' },
      ],
      [
        ['GET', `${LEASES}/other`],
        'leases.coordination.k8s.io "other" is forbidden: User "noderoll" cannot get resource "leases" in API group "coordination.k8s.io" in the namespace "kube-system"',
        { name: 'other', group: 'coordination.k8s.io', kind: 'leases' },
      ],
      [
        ['GET', '/api/v1/namespaces/default'],
        'namespaces "default" is forbidden: User "noderoll" cannot get resource "namespaces" in API group "" in the namespace "default"',
        { name: 'default', kind: 'namespaces' },
      ],
      [['GET', '/metrics'], 'forbidden: User "noderoll" cannot get path "/metrics"', {}],
    ] as const)('%s is forbidden', async ([method, path], message, details) => {
      expect(await callAs('noderoll', method, path, method === 'GET' ? undefined : {})).toMatchObject({
        status: 403,
        body: { kind: 'Status', status: 'Failure', reason: 'Forbidden', message, details, code: 403 },
      })
    })

    it.each(['/readyz', '/livez', '/version', '/api', '/apis', '/api/v1', '/apis/apps/v1'])(
      '%s is for everybody',
      async (path) => {
        expect((await callAs('noderoll', 'GET', path)).status).toBe(200)
      },
    )

    it.each([
      ['a token that is nobody’s', { authorization: 'Bearer nobody' }, 401, 'Unauthorized'],
      ['no token, for an object', { authorization: '' }, 403, 'Forbidden'],
    ])('%s', async (_, headers, status, reason) => {
      const answer = await cluster().callWith(headers, NODES)

      expect(answer).toMatchObject({ status, body: { kind: 'Status', reason } })
    })
  })

  describe('with the rights of deploy/rbac.yaml', () => {
    beforeAll(async () => {
      await grantNoderoll(cluster().kube)
    })

    it.each([
      ['GET', NODES, 200],
      ['GET', `${NODES}/n-1`, 200],
      ['PATCH', `${NODES}/n-1`, 200],
      ['PATCH', `${NODES}/n-1/status`, 403],
      ['DELETE', `${NODES}/n-1`, 403],
      ['POST', NODES, 403],
      ['GET', '/api/v1/pods', 200],
      ['GET', `${PODS}/web`, 403],
      ['DELETE', `${PODS}/web`, 403],
      ['POST', `${PODS}/web/eviction`, 400],
      ['GET', BUDGETS, 200],
      ['PATCH', `${BUDGETS}/guard`, 403],
      ['GET', '/apis/apps/v1/namespaces/default/daemonsets/agent', 404],
      ['GET', '/apis/apps/v1/namespaces/default/daemonsets', 403],
      ['GET', '/api/v1/namespaces/kube-system', 200],
      ['GET', '/api/v1/namespaces/default', 403],
      ['GET', `${MAPS}/noderoll`, 404],
      ['GET', `${MAPS}/other`, 403],
      ['GET', MAPS, 403],
      ['GET', `${MAPS}?fieldSelector=metadata.name%3Dnoderoll`, 403],
      ['DELETE', `${MAPS}/noderoll`, 403],
      ['GET', `${LEASES}/noderoll`, 404],
      ['GET', LEASES.replace('kube-system', 'default'), 403],
      ['GET', '/readyz/etcd', 200],
      ['GET', '/readyz/ping', 403],
    ] as const)('%s %s answers %s', async (method, path, status) => {
      const body = method === 'GET' ? undefined : {}

      expect((await callAs('noderoll', method, path, body)).status).toBe(status)
    })

    it('creates where it may create, under any name', async () => {
      const created = await callAs('noderoll', 'POST', MAPS, { metadata: { name: 'noderoll' } })
      const other = await callAs('noderoll', 'POST', MAPS, { metadata: { name: 'another' } })
      const elsewhere = await callAs('noderoll', 'POST', MAPS.replace('kube-system', 'default'), {
        metadata: { name: 'noderoll' },
      })
      for (const name of ['noderoll', 'another']) await cluster().ok('DELETE', `${MAPS}/${name}`)

      expect([created.status, other.status, elsewhere.status]).toEqual([201, 201, 403])
    })

    it('ends when the binding goes', async () => {
      const path = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings/noderoll-events'
      const event = () => ({
        ...{ metadata: { generateName: 'tried.' }, involvedObject: { kind: 'Node', name: 'n-1' } },
        ...{ reason: 'Tried', message: 'only a test', type: 'Normal' },
      })
      const post = () => callAs('noderoll', 'POST', '/api/v1/namespaces/default/events', event())
      expect((await post()).status).toBe(201)

      await cluster().ok('DELETE', path)

      await waitUntil(async () => (await post()).status === 403, { for: 'the end of the right' })
    })
  })

  describe('the API about itself', () => {
    it('has a version', async () => {
      expect((await cluster().call('GET', '/version')).body).toMatchObject({
        ...{ major: '1', minor: '36', gitVersion: 'v1.36.0' },
      })
    })

    it('lists what kubectl looks for', async () => {
      const { body } = await cluster().call('GET', '/api/v1')
      const eviction = {
        name: 'pods/eviction',
        namespaced: true,
        group: 'policy',
        version: 'v1',
        kind: 'Eviction',
      }

      expect(body).toMatchObject({ kind: 'APIResourceList', groupVersion: 'v1' })
      for (const expected of [
        { name: 'nodes', singularName: 'node', namespaced: false, kind: 'Node', shortNames: ['no'] },
        { name: 'nodes/status', namespaced: false, kind: 'Node', verbs: ['get', 'patch', 'update'] },
        { name: 'pods', namespaced: true, kind: 'Pod', shortNames: ['po'], categories: ['all'] },
        eviction,
      ]) {
        expect(body.resources).toContainEqual(expect.objectContaining(expected))
      }
    })

    it.each([
      ['/api', { kind: 'APIVersions', versions: ['v1'] }],
      ['/apis/policy', { kind: 'APIGroup', preferredVersion: { groupVersion: 'policy/v1', version: 'v1' } }],
      ['/apis/policy/v1', { kind: 'APIResourceList', groupVersion: 'policy/v1' }],
    ])('%s', async (path, expected) => {
      expect((await cluster().call('GET', path)).body).toMatchObject(expected)
    })

    it.each(['/readyz', '/livez', '/healthz', '/readyz/etcd', '/livez/ping'])('%s says ok', async (path) => {
      expect(await cluster().call('GET', path)).toMatchObject({
        ...{ status: 200, text: 'ok' },
        headers: { 'content-type': 'text/plain; charset=utf-8' },
      })
    })

    it('has no other check', async () => {
      expect(await cluster().call('GET', '/readyz/none')).toMatchObject({ status: 404 })
    })
  })

  it('keeps account of who asked what', async () => {
    const { audit } = cluster().kube
    const start = await audit.mark()
    const patch = { metadata: { labels: { audited: 'yes' } } }
    await cluster().ok('PATCH', `${NODES}/n-1`, patch)
    await callAs('noderoll', 'DELETE', `${PODS}/none`)
    await callAs('kubelet', 'PATCH', `${NODES}/n-1/status`, { status: {} })
    await cluster().ok('GET', `${NODES}?fieldSelector=metadata.name%3Dn-1`)
    await cluster().ok('POST', `${MAPS}?dryRun=All`, { metadata: { name: 'named' } })
    await cluster().call('GET', '/api/v1/namespaces/kube-system')
    await cluster().call('GET', '/livez')
    await audit.settled()

    const records = await audit.since(start, ({ user }) => ['admin', 'noderoll', 'kubelet'].includes(user))
    expect(records).toMatchObject([
      { user: 'admin', verb: 'patch', resource: 'nodes', name: 'n-1', code: 200, requestBody: patch },
      { user: 'noderoll', verb: 'delete', resource: 'pods', namespace: 'default', name: 'none', code: 403 },
      { user: 'kubelet', verb: 'patch', resource: 'nodes', subresource: 'status', name: 'n-1', code: 200 },
      { user: 'admin', verb: 'list', resource: 'nodes', subresource: '', name: 'n-1', code: 200 },
      {
        user: 'admin',
        verb: 'create',
        resource: 'configmaps',
        namespace: 'kube-system',
        name: 'named',
        code: 201,
      },
      { user: 'admin', verb: 'get', resource: 'namespaces', namespace: 'kube-system', name: 'kube-system' },
      { user: 'admin', verb: 'get', resource: '', uri: '/livez', code: 200 },
    ])
    expect(records[2]).not.toHaveProperty('requestBody')
    expect(records[3]).not.toHaveProperty('requestBody')
    expect((await audit.writes(start, 'noderoll')).map(({ verb }) => verb)).toEqual(['delete'])
  })
})
