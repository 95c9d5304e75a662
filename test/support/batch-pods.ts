import type { AuditRecord } from './audit.js'
import type { KubeApi, KubeObject } from './kube-api.js'
import type { RealControlPlane } from './parts.js'
import { waitUntil } from './wait.js'

export const PODS = '/api/v1/namespaces/default/pods'
export const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets'
const WORKLOADS = '/apis/apps/v1/namespaces/default'

export interface WorkloadOptions {
  /** Labels of the nodes it may run on, or one node's name. */
  readonly on: string | Readonly<Record<string, string>>
  readonly replicas?: number
  readonly graceSeconds?: number
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
  readonly tolerations?: readonly object[]
  /** This node rather than the others, while it takes pods. */
  readonly preferred?: string
  readonly priorityClass?: string
  /** Never two of them on one node. */
  readonly apart?: boolean
  /** False: they may stay pending. */
  readonly untilReady?: boolean
}

/** Pods with a real controller, on the nodes given; resolves when all of them are ready. */
export async function runWorkload(
  api: KubeApi,
  kind: 'Deployment' | 'StatefulSet' | 'DaemonSet',
  name: string,
  options: WorkloadOptions,
): Promise<void> {
  const replicas = options.replicas ?? 1
  await api.ok('POST', `${WORKLOADS}/${kind.toLowerCase()}s`, {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name },
    spec: {
      selector: { matchLabels: { app: name } },
      ...(kind === 'DaemonSet' ? {} : { replicas }),
      ...(kind === 'StatefulSet' ? { serviceName: name } : {}),
      template: {
        metadata: {
          labels: { app: name },
          annotations: options.annotations ?? {},
          finalizers: options.finalizers ?? [],
        },
        spec: podSpec(name, options),
      },
    },
  })
  const ask = options.untilReady === false ? podsOf : readyPods
  await waitUntil(async () => (await ask(api, name)).length === replicas, {
    for: `${replicas} pods of ${name}`,
  })
}

/** What the scheduler does, for a pod that it would leave pending. */
export async function bindTo(api: KubeApi, pod: KubeObject | undefined, node: string): Promise<void> {
  const { name } = pod?.metadata ?? { name: 'missing' }
  await api.ok('POST', `${PODS}/${name}/binding`, {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name },
    target: { apiVersion: 'v1', kind: 'Node', name: node },
  })
}

/** A pod that nothing would bring back, bound to a node past the scheduler. */
export async function addBarePod(api: KubeApi, name: string, node: string): Promise<void> {
  await api.ok('POST', PODS, {
    metadata: { name, labels: { app: name } },
    spec: { ...podSpec(name, { on: node }), nodeName: node },
  })
}

function podSpec(
  app: string,
  { on, graceSeconds = 0, tolerations = [], preferred, priorityClass, apart = false }: WorkloadOptions,
) {
  const others = { labelSelector: { matchLabels: { app } }, topologyKey: 'kubernetes.io/hostname' }
  const preference = {
    matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [preferred] }],
  }
  return {
    nodeSelector: typeof on === 'string' ? { 'kubernetes.io/hostname': on } : on,
    terminationGracePeriodSeconds: graceSeconds,
    tolerations,
    ...(priorityClass === undefined ? {} : { priorityClassName: priorityClass }),
    containers: [{ name: 'main', image: 'registry.example/app:1' }],
    affinity: {
      ...(preferred === undefined
        ? {}
        : {
            nodeAffinity: {
              preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference }],
            },
          }),
      ...(apart ? { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [others] } } : {}),
    },
  }
}

/** Done when the disruption controller has counted so many healthy pods. */
export async function addBudget(
  api: KubeApi,
  app: string,
  minAvailable: number,
  healthy = minAvailable,
): Promise<void> {
  await api.ok('POST', BUDGETS, {
    metadata: { name: app },
    spec: { minAvailable, selector: { matchLabels: { app } } },
  })
  await waitUntil(
    async () => (await api.ok('GET', `${BUDGETS}/${app}`)).status?.currentHealthy === healthy && true,
    { for: `the count of budget ${app}` },
  )
}

export async function podsOf(api: KubeApi, app: string): Promise<KubeObject[]> {
  return api.list(`${PODS}?labelSelector=app%3D${app}`)
}

async function readyPods(api: KubeApi, app: string): Promise<KubeObject[]> {
  const isReady = (condition: { type: string; status: string }) =>
    condition.type === 'Ready' && condition.status === 'True'
  return (await podsOf(api, app)).filter((pod) => pod.status?.conditions?.some(isReady))
}

/** Evictions asked for since a position of the audit log, refused ones too. */
export async function evictions(kube: RealControlPlane, since: number): Promise<AuditRecord[]> {
  await kube.audit.settled()
  return kube.audit.since(since, { subresource: 'eviction', verb: 'create' })
}
