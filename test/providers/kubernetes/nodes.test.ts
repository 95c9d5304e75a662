import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { attemptAnnotation, clearMarksChange, MARK_KEYS } from '../../../src/core/marks.js'
import type { AttemptMark, NodeChange, NodeRecord } from '../../../src/core/model.js'
import { NO_MARKS } from '../../../src/core/model.js'
import type { KubernetesCluster } from '../../../src/providers/kubernetes/cluster.js'
import { loseAnswer, pass, pretend } from '../../support/proxy.js'
import { addNode, addSettledNode, Bed, NODES, patchNow, patient, portError } from './bed.js'
import { nodeRecords, realFiles, realObjects } from './real-objects.js'

let bed: Bed
let cluster: KubernetesCluster

beforeAll(async () => {
  bed = await Bed.start()
  cluster = (await bed.open()).cluster
})

beforeEach(async () => {
  await bed.clean()
})

afterAll(async () => {
  await bed?.stop()
})

const ATTEMPT: AttemptMark = {
  rollout: 'server/default/cluster-rollout/prod/first',
  run: 'first',
  token: 'batch-1',
  at: '2026-01-02T03:04:05Z',
  bootId: 'boot-of-w-1',
  uid: 'u',
  added: { labels: { extra: null, zone: 'a' }, annotations: {} },
}

const CORDON: NodeChange = {
  unschedulable: true,
  annotations: { [MARK_KEYS.bootId]: 'boot-of-w-1', [MARK_KEYS.attempt]: attemptAnnotation(ATTEMPT) },
  labels: { extra: 'yes', zone: 'b' },
}

describe('reading nodes', () => {
  it('gives all nodes, and one', async () => {
    await addNode(bed.admin, 'w-1')
    await addNode(bed.admin, 'w-2', 'same')
    await addNode(bed.admin, 'w-3', 'same')

    const nodes = await cluster.nodes(patient())

    expect(nodes).toMatchObject([
      { name: 'w-1', ready: 'ready', bootId: 'boot-of-w-1', marks: NO_MARKS, unschedulable: false },
      { name: 'w-2', bootId: null },
      { name: 'w-3', bootId: null },
    ])
    expect(await cluster.node('w-2', patient())).toMatchObject({ uid: nodes[1]?.uid, bootId: null })
    expect(await cluster.node('w-4', patient())).toBeNull()
  })

  it('knows a shared boot id also when it has read nothing but that node', async () => {
    await addNode(bed.admin, 'w-1', 'same')
    await addNode(bed.admin, 'w-2', 'same')
    const fresh = await bed.open()

    expect(await fresh.cluster.node('w-1', patient())).toMatchObject({ bootId: null })
  })

  it('reads long lists page by page', async () => {
    const names = Array.from({ length: 501 }, (_, index) => `n-${String(index).padStart(3, '0')}`)
    await Promise.all(names.map((name) => bed.admin.ok('POST', NODES, { metadata: { name } })))

    const nodes = await cluster.nodes(patient())

    expect(nodes.map(({ name }) => name)).toEqual(names)
    const lists = bed.proxy.requests.filter(({ path }) => path.startsWith(`${NODES}?`))
    expect(lists.map(({ path }) => new URL(path, bed.proxy.url).searchParams.get('limit'))).toEqual([
      '500',
      '500',
    ])
  })

  it('begins again when the pages come so slowly that the server has forgotten the list', async () => {
    const names = Array.from({ length: 501 }, (_, index) => `n-${String(index).padStart(3, '0')}`)
    await Promise.all(names.map((name) => bed.admin.ok('POST', NODES, { metadata: { name } })))
    const forgotten = bed.proxy.on({ path: /continue=/ }, expiredPage(), { times: 1 })

    expect(await cluster.nodes(patient())).toHaveLength(501)
    expect(forgotten.hits).toHaveLength(1)
  })

  it.each(realFiles('node'))('gives real nodes as they are: %s', async (file) => {
    for (const { metadata, spec, status } of realObjects(file)) {
      const { name, labels, annotations } = metadata
      await bed.admin.ok('POST', NODES, { metadata: { name, labels, annotations }, spec })
      await bed.admin.ok('PATCH', `${NODES}/${name}/status`, { status })
    }

    const nodes = await cluster.nodes(patient())

    const facts = ({ name, providerId, bootId, ready, controlPlane, ephemeralStorageKiB }: NodeRecord) =>
      [name, providerId, bootId, ready, controlPlane, ephemeralStorageKiB].join(' ')
    expect(nodes.map(facts)).toEqual(nodeRecords(realObjects(file)).map(facts).sort())
  })

  it('CKS-00 the identity of the cluster is the UID of kube-system', async () => {
    const { metadata } = await bed.admin.ok('GET', '/api/v1/namespaces/kube-system')

    expect(await cluster.identity(patient())).toBe(metadata.uid)
  })
})

describe('patching a node', () => {
  it('CKS-15 cordons and marks in one merge patch that carries the resourceVersion, and reads it back', async () => {
    const { metadata } = await addSettledNode(bed.admin, 'w-1')
    const start = await bed.controlPlane.audit.mark()

    const node = await cluster.patchNode('w-1', metadata.resourceVersion ?? '', CORDON, patient())

    expect(node).toMatchObject({
      unschedulable: true,
      labels: { extra: 'yes', zone: 'b' },
      marks: { ...NO_MARKS, bootId: 'boot-of-w-1', attempt: ATTEMPT },
    })
    await bed.controlPlane.audit.settled()
    expect(await bed.controlPlane.audit.writes(start, 'noderoll')).toMatchObject([
      {
        verb: 'patch',
        resource: 'nodes',
        requestBody: { metadata: { resourceVersion: metadata.resourceVersion } },
      },
    ])
    expect(bed.proxy.requests.slice(0, 2)).toMatchObject([
      { method: 'PATCH', path: `${NODES}/w-1` },
      { method: 'GET', path: `${NODES}/w-1` },
    ])
  })

  it('B34 (a) sends the content type of a merge patch', async () => {
    const { metadata } = await addSettledNode(bed.admin, 'w-1')

    await cluster.patchNode('w-1', metadata.resourceVersion ?? '', { unschedulable: true }, patient())

    const patches = bed.proxy.requests.filter(({ method }) => method === 'PATCH')
    expect(patches.map(({ headers }) => headers['content-type'])).toEqual(['application/merge-patch+json'])
  })

  it('K1 clearing the marks leaves the node as it was found', async () => {
    const before = await addSettledNode(bed.admin, 'w-1')
    const marked = await patchNow(cluster, 'w-1', CORDON)

    await patchNow(cluster, 'w-1', clearMarksChange(marked, { uncordon: true }))

    const after = await bed.admin.ok('GET', `${NODES}/w-1`)
    expect(after.spec).not.toHaveProperty('unschedulable')
    expect(after.metadata.labels).toEqual(before.metadata.labels)
    expect(after.metadata.annotations).toEqual(before.metadata.annotations)
  })

  it('is a conflict when somebody has written in between, and changes nothing', async () => {
    const { metadata } = await addSettledNode(bed.admin, 'w-1')
    await bed.admin.ok('PATCH', `${NODES}/w-1`, { metadata: { labels: { zone: 'c' } } })

    const patched = cluster.patchNode('w-1', metadata.resourceVersion ?? '', CORDON, patient())

    await expect(patched).rejects.toEqual(portError('conflict', /^Could not patch node w-1: .*modified/))
    expect(await bed.admin.ok('GET', `${NODES}/w-1`)).not.toHaveProperty('spec.unschedulable')
  })

  it.each<[string, NodeChange]>([
    ['a cordon', CORDON],
    ['CORDON-06 an uncordon', { unschedulable: false }],
  ])('CKS-15 %s is told when the node does not exist, and makes none', async (_, change) => {
    const patched = cluster.patchNode('w-9', '1', change, patient())

    await expect(patched).rejects.toEqual(portError('notFound', /nodes "w-9" not found \(404\)/))
    expect((await bed.admin.call('GET', `${NODES}/w-9`)).status).toBe(404)
  })

  it.each([
    ['plain JSON', 'application/json'],
    ['a list of operations', 'application/json-patch+json'],
  ])('B34 (b) is a hard stop when the content type arrives as %s', async (_, contentType) => {
    const { metadata } = await addSettledNode(bed.admin, 'w-1')
    bed.proxy.on({ method: 'PATCH' }, pass({ headers: { 'content-type': contentType } }))

    const patched = cluster.patchNode('w-1', metadata.resourceVersion ?? '', CORDON, patient())

    await expect(patched).rejects.toEqual(portError('refused'))
    expect(await bed.admin.ok('GET', `${NODES}/w-1`)).not.toHaveProperty('spec.unschedulable')
  })

  it('B34 (c) is a conflict when the answer is 200 and the patch was dropped', async () => {
    const { metadata } = await addSettledNode(bed.admin, 'w-1')
    bed.proxy.on({ method: 'PATCH' }, pretend())

    const patched = cluster.patchNode('w-1', metadata.resourceVersion ?? '', CORDON, patient())

    await expect(patched).rejects.toEqual(
      portError('conflict', /accepted, but not stored: spec\.unschedulable, extra, zone, noderoll\.io/),
    )
  })

  it('B34 (c) is a conflict when the answer shows the change and the server does not', async () => {
    const node = await addSettledNode(bed.admin, 'w-1')
    const asked = { ...node, spec: { unschedulable: true } }
    bed.proxy.on({ method: 'PATCH' }, pretend())
    bed.proxy.on(
      { method: 'GET', path: `${NODES}/w-1` },
      pass({ change: () => ({ body: JSON.stringify(asked) }) }),
      { times: 1 },
    )

    const patched = cluster.patchNode(
      'w-1',
      node.metadata.resourceVersion ?? '',
      { unschedulable: true },
      patient(),
    )

    await expect(patched).rejects.toEqual(portError('conflict', /not stored: spec\.unschedulable/))
  })

  it('is unreachable, and not done twice, when the answer is lost', async () => {
    const { metadata } = await addSettledNode(bed.admin, 'w-1')
    const lost = bed.proxy.on({ method: 'PATCH' }, loseAnswer())

    const patched = cluster.patchNode('w-1', metadata.resourceVersion ?? '', CORDON, patient())

    await expect(patched).rejects.toEqual(portError('unreachable'))
    expect(lost.hits).toHaveLength(1)
    expect(await cluster.node('w-1', patient())).toMatchObject({ unschedulable: true })
  })
})

it('puts an event on the node, and does not mind when it cannot', async () => {
  await addSettledNode(bed.admin, 'w-1')
  const [node] = await cluster.nodes(patient())
  if (node === undefined) throw new Error('no node')

  await cluster.nodeEvent(node, 'Warning', 'RootFsNotGrown', 'x'.repeat(2_000))

  const events = await bed.admin.list('/api/v1/namespaces/default/events')
  expect(events.filter(({ reason }) => reason === 'RootFsNotGrown')).toMatchObject([
    { involvedObject: { kind: 'Node', name: 'w-1', uid: node.uid }, source: { component: 'noderoll' } },
  ])
  await bed.proxy.down()
  await expect(cluster.nodeEvent(node, 'Normal', 'Rolled', 'done')).resolves.toBeUndefined()
})

function expiredPage() {
  return pass({
    change: () => ({
      status: 410,
      body: JSON.stringify({ kind: 'Status', code: 410, reason: 'Expired', message: 'too old' }),
    }),
  })
}
