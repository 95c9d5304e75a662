import { writeFile } from 'node:fs/promises'
import { KubeConfig } from '@kubernetes/client-node'
import { type SimulatedCluster, startSimulatedCluster } from '../src/simulation/cluster.js'
import { createWorkloads } from '../src/simulation/workloads.js'
import type { RolloutRequest } from '../src/spec/schema.js'
import { startControlPlane } from '../test/support/control-plane.js'

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
}

/** Real etcd, API server, controller manager and scheduler; simulated machines and kubelets on them. */
export async function startDemoWorld({ control, workers }: DemoSize): Promise<DemoWorld> {
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
  const kubeconfigFile = await kube.kubeconfigFile()
  return {
    machines,
    kubeconfigFile,
    spec: specFor(machines, kubeconfigFile),
    stop: async () => {
      await machines.close()
      await kube.stop()
    },
  }
}

/** The spec that the demo starts, also as a file for the stock `temporal` lines. */
export async function writeSpec(spec: RolloutRequest, path: string): Promise<void> {
  await writeFile(path, `${JSON.stringify(spec, null, 2)}\n`)
}

function specFor(machines: SimulatedCluster, kubeconfig: string): RolloutRequest {
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
    drain: { timeout: '2m' },
    verify: { settle: '1s' },
  }
}

interface Api {
  list(path: string): Promise<object[]>
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
