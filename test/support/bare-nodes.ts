import type { KubeApi, KubeObject } from './kube-api.js'

export const NODES = '/api/v1/nodes'

/** A Node object and nothing else: no machine, no kubelet. */
export async function addNode(api: KubeApi, name: string): Promise<KubeObject> {
  return await api.ok('POST', NODES, { metadata: { name } })
}
