import { KubeConfig } from '@kubernetes/client-node'
import { Client, Connection } from '@temporalio/client'
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker'
import type { RolloutResult } from '../src/api/results.js'
import {
  type SimulatedCluster,
  type SimulatedClusterOptions,
  startSimulatedCluster,
} from '../src/simulation/cluster.js'
import type { RolloutRequest } from '../src/spec/schema.js'
import { createWorker } from '../src/worker/create-worker.js'
import { type ControlPlaneClient, startControlPlane } from '../test/support/control-plane.js'
import { embeddedControlPlane } from '../test/support/embedded-control-plane.js'
import { makeBundle } from '../test/support/make-bundle.js'
import { startTemporal, type TemporalServer } from '../test/support/temporal.js'
import { waitUntil } from '../test/support/wait.js'
import { AS_SERVERS_HAVE_IT, queueReads } from './server-defaults.js'

const TASK_QUEUE = 'bench'

type Started = readonly [kube: ControlPlaneClient, stop: () => Promise<void>]

const START: Readonly<Record<'real' | 'embedded', () => Promise<Started>>> = {
  real: async () => {
    const kube = await startControlPlane({ name: 'bench' })
    return [kube, () => kube.stop()]
  },
  embedded: async () => {
    const kube = await embeddedControlPlane()
    return [kube, async () => kube.close()]
  },
}

// Once a process, however many beds it opens.
Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { forward: {} } } })

/** Temporal, a control plane and a worker in this process. */
export class BenchBed {
  readonly kube: ControlPlaneClient
  readonly client: Client
  private readonly ends: (() => Promise<unknown>)[]

  private constructor(kube: ControlPlaneClient, client: Client, ends: (() => Promise<unknown>)[]) {
    this.kube = kube
    this.client = client
    this.ends = ends
  }

  /** The embedded one holds thousands of nodes without processes of its own. */
  static async open(
    controlPlane: 'real' | 'embedded' = 'real',
    readsASecond = AS_SERVERS_HAVE_IT,
  ): Promise<BenchBed> {
    const [[kube, stopKube], temporal] = await Promise.all([
      START[controlPlane](),
      startTemporal(queueReads(readsASecond)),
    ])
    const native = await NativeConnection.connect({ address: temporal.address })
    const worker = await createWorker({
      connection: native,
      namespace: 'default',
      address: temporal.address,
      taskQueue: TASK_QUEUE,
      workflowBundle: await makeBundle(),
      shutdownGraceSeconds: 1,
    })
    const running = worker.run()
    const connection = await Connection.connect({ address: temporal.address })
    const ends = [
      async () => {
        worker.shutdown()
        await running
        await native.close()
        await connection.close()
      },
      stopKube,
      () => (temporal as TemporalServer).stop(),
    ]
    return new BenchBed(kube, new Client({ connection }), ends)
  }

  async close(): Promise<void> {
    for (const end of this.ends) await end()
  }

  startCluster(options: Partial<SimulatedClusterOptions>): Promise<SimulatedCluster> {
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromString(this.kube.kubeconfig())
    return startSimulatedCluster({
      kubeConfig,
      cluster: 'bench',
      control: 0,
      machine: { offering: 'small', rootDiskGiB: 50 },
      readyTimeoutMs: 300_000,
      ...options,
    })
  }

  async spec(cluster: SimulatedCluster, changes: Partial<RolloutRequest>): Promise<RolloutRequest> {
    return {
      cluster: 'bench',
      kubernetes: { kubeconfig: await this.kube.kubeconfigFile() },
      machines: { provider: 'simulated', ...cluster.access },
      rollout: true,
      verify: { settle: 0 },
      ...changes,
    }
  }

  /** Rolls and gives the wall time in seconds. */
  async roll(spec: RolloutRequest, workflowId: string): Promise<{ seconds: number; result: RolloutResult }> {
    const startedAt = performance.now()
    const handle = await this.client.workflow.start('clusterRollout', {
      taskQueue: TASK_QUEUE,
      workflowId,
      args: [spec],
    })
    const result = (await handle.result()) as RolloutResult
    return { seconds: (performance.now() - startedAt) / 1000, result }
  }

  execute(type: string, input: unknown, workflowId: string): Promise<unknown> {
    return this.client.workflow.execute(type, { taskQueue: TASK_QUEUE, workflowId, args: [input] })
  }

  /** A Deployment of `replicas` pods with so many seconds of grace, ready. */
  async deploy(replicas: number, graceSeconds: number): Promise<void> {
    const labels = { app: 'bench' }
    await this.kube.api.ok('POST', '/apis/apps/v1/namespaces/default/deployments', {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'bench' },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            terminationGracePeriodSeconds: graceSeconds,
            automountServiceAccountToken: false,
            containers: [{ name: 'main', image: 'bench' }],
          },
        },
      },
    })
    await this.untilDeployed(replicas)
  }

  async untilDeployed(replicas: number): Promise<void> {
    const ready = async () => {
      const found = await this.kube.api.ok('GET', '/apis/apps/v1/namespaces/default/deployments/bench')
      return (found as unknown as { status: { readyReplicas?: number } }).status.readyReplicas === replicas
    }
    await waitUntil(ready, { for: 'the pods', timeoutMs: 120_000, everyMs: 100 })
  }
}
