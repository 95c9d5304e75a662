import { KubeConfig } from '@kubernetes/client-node'
import { type SimulatedCluster, startSimulatedCluster } from '../src/simulation/cluster.js'
import { createWorkloads } from '../src/simulation/workloads.js'
import type { RolloutRequest } from '../src/spec/schema.js'
import { startControlPlane } from '../test/support/control-plane.js'
import type { Failure } from './arguments.js'

export const CLUSTER = 'demo'

/** A cluster to roll, with people's workloads on it. */
export interface DemoWorld {
  readonly machines: SimulatedCluster
  readonly kubeconfigFile: string
  readonly spec: RolloutRequest
  stop(): Promise<void>
}

export interface DemoSize {
  readonly control: number
  readonly workers: number
  readonly fail: Failure | null
}

/** Real etcd, API server, controller manager and scheduler; simulated machines and kubelets on them. */
export async function startDemoWorld({ control, workers, fail }: DemoSize): Promise<DemoWorld> {
  const kube = await startControlPlane({ name: CLUSTER })
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromString(kube.kubeconfig())
  const machines = await startSimulatedCluster({
    kubeConfig,
    cluster: CLUSTER,
    control,
    workers,
    machine: { offering: 'small', rootDiskGiB: 50 },
    delays: { stopMs: 800, changeMs: 200, startMs: 800, bootMs: 1_200 },
  })
  await createWorkloads({ kubeConfig, gracePeriodSeconds: 1 })
  await workloadsReady(kube.api)
  if (fail !== null) await script(fail, machines, kube.api)
  const kubeconfigFile = await kube.kubeconfigFile()
  return {
    machines,
    kubeconfigFile,
    spec: specFor(machines, kubeconfigFile, fail),
    stop: async () => {
      await machines.close()
      await kube.stop()
    },
  }
}

function specFor(machines: SimulatedCluster, kubeconfig: string, fail: Failure | null): RolloutRequest {
  return {
    cluster: CLUSTER,
    kubernetes: { kubeconfig },
    machines: { provider: 'simulated', ...machines.access },
    etcd: { provider: 'simulated', ...machines.access },
    pools: {
      control: { offering: 'medium' },
      worker: { offering: 'large', rootDiskGiB: 80, maxUnavailable: 2 },
    },
    rollout: true,
    drain: { timeout: fail === 'drain' ? '15s' : '2m' },
    verify: { settle: '1s' },
  }
}

/** Makes one thing go wrong (`--fail`). */
async function script(fail: Failure, { cloud }: SimulatedCluster, api: Api): Promise<void> {
  switch (fail) {
    case 'drain':
      await api.ok(
        'PATCH',
        '/apis/policy/v1/namespaces/shop/poddisruptionbudgets/web',
        { spec: { maxUnavailable: 0 } },
        {
          contentType: 'application/merge-patch+json',
        },
      )
      return
    case 'start':
      cloud.faults.add({
        call: 'start',
        machine: 'w-2',
        count: null,
        effect: { kind: 'operationFails', message: 'the host of the machine has a broken disk' },
      })
      return
    case 'capacity':
      cloud.faults.add({ call: 'start', offering: 'large', count: null, effect: { kind: 'capacity' } })
      return
    default:
      fail satisfies never
  }
}

interface Api {
  list(path: string): Promise<object[]>
  ok(method: string, path: string, body: object, options: { contentType: string }): Promise<object>
}

/** Budgets allow nothing until their pods are ready: a demo that begins before would begin with a wait. */
async function workloadsReady(api: Api): Promise<void> {
  const deadline = performance.now() + 60_000
  for (;;) {
    const pods = (await api.list('/api/v1/namespaces/shop/pods')) as PodObject[]
    if (pods.length > 0 && pods.every(isReady)) return
    if (performance.now() > deadline)
      throw new Error('the workloads of the demo did not become ready in 60 s')
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

interface PodObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
}

function isReady(pod: PodObject): boolean {
  return pod.status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') ?? false
}
