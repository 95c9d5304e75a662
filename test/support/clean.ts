import type { ControlPlaneClient } from './control-plane.js'
import type { KubeApi, KubeObject } from './kube-api.js'
import { waitUntil } from './wait.js'

/** In the order in which they go: what refuses requests, what makes pods, nodes, pods, the rest. */
const RESOURCES = [
  'admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
  'admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
  'admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
  'admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  'batch/v1/cronjobs',
  'batch/v1/jobs',
  'apps/v1/deployments',
  'apps/v1/statefulsets',
  'apps/v1/daemonsets',
  'apps/v1/replicasets',
  'v1/replicationcontrollers',
  'v1/nodes',
  'policy/v1/poddisruptionbudgets',
  'v1/pods',
  'v1/persistentvolumeclaims',
  'v1/persistentvolumes',
  'storage.k8s.io/v1/volumeattachments',
]

/** What has a controller that makes pods. */
const WORKLOADS = RESOURCES.filter((resource) => /^(batch|apps)\/|replicationcontrollers$/.test(resource))

const EVENTS = '/api/v1/namespaces/default/events'

/** Also deleted, but only these: the cluster's own live beside them. */
const OUR_OBJECTS = [
  '/api/v1/namespaces/kube-system/configmaps/noderoll',
  '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/noderoll',
]

/**
 * Deletes what tests make, at once: nodes, pods, workloads, budgets, volumes, events, the kubelets' Leases, noderoll's
 * own ConfigMap and Lease, and namespaces labelled `noderoll.test=1`, whose end it does not wait for.
 */
export async function cleanCluster({ api }: Pick<ControlPlaneClient, 'api'>): Promise<void> {
  await Promise.all([
    ...OUR_OBJECTS.map((path) => api.call('DELETE', path)),
    api.ok('DELETE', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'),
    api.ok('DELETE', EVENTS),
    deleteTestNamespaces(api),
  ])
  // A controller may make one more pod before it has seen that its workload is gone: then it has to be empty twice.
  let looks = 1
  await waitUntil(
    async () => {
      for (let empty = 0; empty < looks; empty++) {
        const found = await deleteAll(api)
        if (found.some((resource) => WORKLOADS.includes(resource))) looks = 2
        if (found.length > 0) return false
      }
      return true
    },
    { for: 'an empty cluster', timeoutMs: 60_000 },
  )
  // Those that a worker has told meanwhile.
  await api.ok('DELETE', EVENTS)
}

async function deleteTestNamespaces(api: KubeApi): Promise<void> {
  const namespaces = await api.list('/api/v1/namespaces?labelSelector=noderoll.test%3D1')
  await Promise.all(
    namespaces
      .filter(({ metadata }) => !metadata.deletionTimestamp)
      .map(({ metadata }) => api.call('DELETE', `/api/v1/namespaces/${metadata.name}`)),
  )
}

/** The resources of which there was something. */
async function deleteAll(api: KubeApi): Promise<string[]> {
  const found = await Promise.all(
    RESOURCES.map(async (resource) => ({ resource, objects: await api.list(pathOf(resource)) })),
  )
  const full = found.filter(({ objects }) => objects.length > 0)
  for (const { resource, objects } of full) {
    const held = objects.filter(({ metadata }) => metadata.finalizers?.length)
    await Promise.all(held.map((object) => releaseObject(api, resource, object)))
    const namespaces = new Set(objects.map(({ metadata }) => metadata.namespace))
    await Promise.all(
      [...namespaces].map((namespace) =>
        api.call('DELETE', pathOf(resource, namespace), {
          kind: 'DeleteOptions',
          apiVersion: 'v1',
          gracePeriodSeconds: 0,
          propagationPolicy: 'Background',
        }),
      ),
    )
  }
  return full.map(({ resource }) => resource)
}

async function releaseObject(api: KubeApi, resource: string, { metadata }: KubeObject): Promise<void> {
  const path = `${pathOf(resource, metadata.namespace)}/${metadata.name}`
  await api.call('PATCH', path, { metadata: { finalizers: null } })
}

function pathOf(resource: string, namespace?: string): string {
  const words = resource.split('/')
  const name = words.pop()
  const group = words.length === 1 ? '/api/v1' : `/apis/${words.join('/')}`
  return namespace === undefined ? `${group}/${name}` : `${group}/namespaces/${namespace}/${name}`
}
