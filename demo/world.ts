import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { KubeApi } from '../src/simulation/kube-api.js'
import { createWorkloads } from '../src/simulation/workloads.js'
import type { RolloutRequest } from '../src/spec/schema.js'
import { embeddedApi, realApi } from './api.js'
import type { DemoArguments } from './arguments.js'
import { azureMachines, simulatedMachines } from './machines.js'

export const CLUSTER = 'demo'

/** A cluster to roll, with people's workloads on it. */
export interface DemoWorld {
  readonly kubeconfigFile: string
  readonly spec: RolloutRequest
  stop(): Promise<void>
}

export interface DemoSize extends Pick<DemoArguments, 'fail' | 'kubernetes' | 'provider'> {
  readonly control: number
  readonly workers: number
}

/** A Kubernetes API, machines and kubelets on it, and what people run there. */
export async function startDemoWorld(size: DemoSize): Promise<DemoWorld> {
  const { fail, kubernetes, provider } = size
  const folder = await mkdtemp(join(tmpdir(), 'noderoll-demo-'))
  const api = await (kubernetes === 'real' ? realApi() : embeddedApi(folder))
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromString(api.kubeconfig)
  const makeMachines = provider === 'azure-vm' ? azureMachines : simulatedMachines
  const machines = await makeMachines({ ...size, kubeConfig, cluster: CLUSTER, folder })
  const client = new KubeApi({ kubeConfig, userAgent: 'demo' })
  await createWorkloads({ kubeConfig, gracePeriodSeconds: 1 })
  await workloadsReady(client)
  if (fail === 'drain') {
    const never = { spec: { maxUnavailable: 0 } }
    await client.patch('/apis/policy/v1/namespaces/shop/poddisruptionbudgets/web', never)
  }
  return {
    kubeconfigFile: api.kubeconfigFile,
    spec: {
      cluster: CLUSTER,
      kubernetes: { kubeconfig: api.kubeconfigFile },
      ...machines.spec,
      rollout: true,
      drain: { timeout: fail === 'drain' ? '15s' : '2m' },
      verify: { settle: '1s' },
    },
    stop: async () => {
      await client.close()
      await machines.close()
      await api.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Budgets allow nothing until their pods are ready: a demo that begins before would begin with a wait. */
async function workloadsReady(api: KubeApi): Promise<void> {
  const deadline = performance.now() + 60_000
  for (;;) {
    const { items: pods } = await api.get<{ items: PodObject[] }>('/api/v1/namespaces/shop/pods')
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
