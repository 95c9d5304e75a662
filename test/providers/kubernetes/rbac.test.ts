import { afterAll, beforeAll, expect, it } from 'vitest'
import { EMPTY_RECORD } from '../../../src/core/record.js'
import type { AuditRecord } from '../../support/audit.js'
import { waitUntil } from '../../support/wait.js'
import { addNode, addPod, Bed, patchNow, patient, portError, rbacDocuments } from './bed.js'

let bed: Bed

beforeAll(async () => {
  bed = await Bed.start()
})

afterAll(async () => {
  await bed?.stop()
})

/** `get namespaces`, or `get /readyz`, of the roles that the file binds. */
async function granted(): Promise<string[]> {
  const documents = await rbacDocuments()
  const bound = documents.flatMap(({ roleRef }) => roleRef?.name ?? [])
  const rules = documents
    .filter(({ metadata }) => bound.includes(metadata.name))
    .flatMap((document) => document.rules ?? [])
  const rights = rules.flatMap(({ verbs, resources = [], nonResourceURLs = [] }) =>
    verbs.flatMap((verb: string) =>
      [...resources, ...nonResourceURLs].map((what: string) => `${verb} ${what}`),
    ),
  )
  return [...new Set<string>(rights)].sort()
}

function used({ verb, resource, subresource, uri }: AuditRecord): string {
  return `${verb} ${resource === '' ? uri : [resource, subresource].filter(Boolean).join('/')}`
}

it('deploy/rbac.yaml gives what noderoll asks for, and nothing else', async () => {
  const { cluster, records } = await bed.open({})
  await addNode(bed.admin, 'w-1')
  await addPod(bed.admin, 'web', 'w-1')
  const start = await bed.controlPlane.audit.mark()

  await cluster.identity(patient())
  const [node] = await cluster.nodes(patient())
  const [pod] = await cluster.podsOn('w-1', patient())
  if (node === undefined || pod === undefined) throw new Error('the cluster is empty')
  const heard = { nodes: 0, pods: 0, volumes: 0 }
  const watches = [
    cluster.watchNodes(() => heard.nodes++, null),
    cluster.keepPodsOn('w-1', () => heard.pods++),
    cluster.keepVolumeAttachments(() => heard.volumes++),
  ]
  await waitUntil(() => heard.nodes > 0 && heard.pods > 0 && heard.volumes > 0, {
    for: 'the watches to begin',
  })
  await cluster.node('w-1', patient())
  await cluster.nodeEvent(node, 'Normal', 'Tried', 'only a test')
  await cluster.daemonSetExists('default', 'agent', patient())
  await cluster.budgets('default', patient())
  await cluster.volumeOfClaim('default', 'data', patient())
  await cluster.etcdReady(patient())
  await patchNow(cluster, 'w-1', { unschedulable: true })
  await cluster.evict(pod, 0, patient())
  const { version } = await records.write(EMPTY_RECORD, null, patient())
  await records.write({ ...EMPTY_RECORD, state: 'Running' }, version, patient())
  const lease = await records.writeLease({ holder: null, since: null }, null, patient())
  await records.writeLease({ holder: 'x', since: null }, lease.version, patient())
  await bed.admin.ok('POST', '/apis/storage.k8s.io/v1/volumeattachments', {
    metadata: { name: 'csi-1' },
    spec: { attacher: 'csi.example.com', nodeName: 'w-1', source: { persistentVolumeName: 'pv-1' } },
  })
  await waitUntil(() => heard.nodes > 1 && heard.pods > 1 && heard.volumes > 1, {
    for: 'all watches to tell something',
  })
  await bed.admin.ok('DELETE', '/apis/storage.k8s.io/v1/volumeattachments/csi-1')
  for (const watch of watches) watch.close()

  const asked = await waitUntil(
    async () => {
      await bed.controlPlane.audit.settled()
      const seen = await bed.controlPlane.audit.since(start, { user: 'noderoll' })
      return seen.filter(({ verb }) => verb === 'watch').length === 3 && seen
    },
    { for: 'the watches in the audit log' },
  )
  expect(asked.filter(({ code }) => code === 403)).toEqual([])
  // Asked only after a "forbidden", which nobody gets here.
  expect([...new Set([...asked.map(used), 'get /readyz'])].sort()).toEqual(await granted())
})

it('deploy/rbac.yaml lets noderoll delete no pod until somebody binds the role for that', async () => {
  const { cluster } = await bed.open({})
  await addPod(bed.admin, 'kept', 'w-1')
  const pod = (await cluster.podsOn('w-1', patient())).find(({ name }) => name === 'kept')
  if (pod === undefined) throw new Error('no pod kept')

  for (const tryOnly of [true, false]) {
    await expect(cluster.deletePod(pod, tryOnly, patient())).rejects.toEqual(
      portError('refused', /cannot delete resource "pods"/),
    )
  }
})
