import type { SimulatedMachine } from './cloud-state.js'
import { hasStatus, type KubeApi } from './kube-api.js'

const NAMESPACE = 'kube-system'

/** Mirror pods of what runs on a control machine from files. Those that exist are left alone. */
export async function ensureStaticPods(
  api: KubeApi,
  machine: SimulatedMachine,
  nodeUid: string,
): Promise<void> {
  const names = [
    ...(machine.apiServer === null ? [] : ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler']),
    ...(machine.apiServer === null || machine.etcd === null ? [] : ['etcd']),
  ]
  for (const name of names) {
    try {
      await api.create(`/api/v1/namespaces/${NAMESPACE}/pods`, mirrorPod(name, machine.name, nodeUid))
    } catch (error) {
      if (!hasStatus(error, 409)) throw error
    }
  }
}

function mirrorPod(component: string, nodeName: string, nodeUid: string): unknown {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${component}-${nodeName}`,
      namespace: NAMESPACE,
      labels: { component, tier: 'control-plane' },
      annotations: {
        'kubernetes.io/config.mirror': `${component}-${nodeName}`,
        'kubernetes.io/config.source': 'file',
      },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeUid, controller: true }],
    },
    spec: {
      nodeName,
      hostNetwork: true,
      automountServiceAccountToken: false,
      tolerations: [{ operator: 'Exists', effect: 'NoExecute' }],
      containers: [{ name: component, image: `simulated/${component}` }],
    },
  }
}
