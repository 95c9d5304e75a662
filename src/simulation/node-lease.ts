import { hasStatus, type KubeApi } from './kube-api.js'

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
const LEASE_SECONDS = 40

/** Writes the time into the node's Lease, which the node lifecycle controller looks at. Never throws. */
export async function renewLease(api: KubeApi, nodeName: string, nodeUid: string): Promise<void> {
  // Microseconds, or the API server does not read it.
  const renewTime = new Date().toISOString().replace('Z', '000Z')
  try {
    await api.patch(`${LEASES}/${nodeName}`, { spec: { renewTime } })
  } catch (error) {
    if (hasStatus(error, 404)) await create(api, nodeName, nodeUid, renewTime).catch(() => undefined)
  }
}

async function create(api: KubeApi, nodeName: string, nodeUid: string, renewTime: string): Promise<void> {
  await api.create(LEASES, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name: nodeName,
      namespace: 'kube-node-lease',
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeUid }],
    },
    spec: { holderIdentity: nodeName, leaseDurationSeconds: LEASE_SECONDS, renewTime },
  })
}
