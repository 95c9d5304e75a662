import type { KubeConfig } from '@kubernetes/client-node'
import { hasStatus, KubeApi } from './kube-api.js'

export interface WorkloadsOptions {
  readonly kubeConfig: KubeConfig
  /** Default `shop`. Created with `namespaceLabels` where it does not exist. */
  readonly namespace?: string
  readonly namespaceLabels?: Readonly<Record<string, string>>
  /** Multiplies the number of pods; default 1 (13 pods and one per node). */
  readonly scale?: number
  /** Seconds a pod takes to end. Default 2. */
  readonly gracePeriodSeconds?: number
}

interface Workload {
  readonly kind: 'Deployment' | 'StatefulSet' | 'DaemonSet'
  readonly name: string
  readonly replicas: number
  /** Of a PodDisruptionBudget; null: none. */
  readonly maxUnavailable: number | null
}

const WORKLOADS: readonly Workload[] = [
  { kind: 'Deployment', name: 'web', replicas: 4, maxUnavailable: 1 },
  { kind: 'Deployment', name: 'api', replicas: 3, maxUnavailable: 1 },
  { kind: 'Deployment', name: 'worker-queue', replicas: 3, maxUnavailable: null },
  { kind: 'StatefulSet', name: 'orders-db', replicas: 3, maxUnavailable: 1 },
  { kind: 'DaemonSet', name: 'log-agent', replicas: 0, maxUnavailable: null },
]

/**
 * Creates what a small shop would run: three Deployments, a StatefulSet and a DaemonSet, with disruption budgets where
 * they matter. Whatever exists is left alone. Needs a cluster whose controllers and scheduler run.
 */
export async function createWorkloads(options: WorkloadsOptions): Promise<void> {
  const { namespace = 'shop', namespaceLabels = {} } = options
  const api = new KubeApi({ kubeConfig: options.kubeConfig, userAgent: 'simulated-team' })
  try {
    await createOnce(api, '/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace, labels: namespaceLabels },
    })
    for (const workload of WORKLOADS) {
      const path = `/apis/apps/v1/namespaces/${namespace}/${workload.kind.toLowerCase()}s`
      await createOnce(api, path, workloadObject(workload, options))
      if (workload.maxUnavailable !== null) {
        const budgets = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`
        await createOnce(api, budgets, budgetObject(workload))
      }
    }
  } finally {
    await api.close()
  }
}

async function createOnce(api: KubeApi, path: string, object: unknown): Promise<void> {
  try {
    await api.create(path, object)
  } catch (error) {
    if (!hasStatus(error, 409)) throw error
  }
}

function workloadObject({ kind, name, replicas }: Workload, options: WorkloadsOptions): unknown {
  const { scale = 1, gracePeriodSeconds = 2 } = options
  const labels = { app: name }
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name, labels },
    spec: {
      selector: { matchLabels: labels },
      ...(kind === 'DaemonSet' ? {} : { replicas: replicas * scale }),
      ...(kind === 'StatefulSet' ? { serviceName: name, podManagementPolicy: 'Parallel' } : {}),
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: gracePeriodSeconds,
          // An agent looks after every node, control nodes too.
          ...(kind === 'DaemonSet' ? { tolerations: [{ operator: 'Exists' }] } : {}),
          containers: [
            { name, image: `registry.example/${name}:1`, resources: { requests: { cpu: '100m' } } },
          ],
        },
      },
    },
  }
}

function budgetObject({ name, maxUnavailable }: Workload): unknown {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name },
    spec: { maxUnavailable, selector: { matchLabels: { app: name } } },
  }
}
