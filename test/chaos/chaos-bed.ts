import { KubeConfig } from '@kubernetes/client-node'
import { Client, Connection } from '@temporalio/client'
import type { RolloutResult } from '../../src/api/results.js'
import { SimulatedCloud } from '../../src/simulation/cloud.js'
import { SimulatedKubelets } from '../../src/simulation/kubelets.js'
import type { LoggedRequest } from '../../src/simulation/request-log.js'
import type { RolloutRequest } from '../../src/spec/schema.js'
import { grantNoderoll } from '../providers/kubernetes/bed.js'
import { workflowBundle } from '../support/bundle.js'
import { type ControlPlane, startControlPlane } from '../support/control-plane.js'
import type { KillPoint } from '../support/kill-point.js'
import { cleanCluster, realTemporal } from '../support/parts.js'
import { Replayer } from '../support/replay.js'
import { type Node, OFFERINGS } from '../support/rollout-bed.js'
import { waitUntil } from '../support/wait.js'
import { WorkerProcess } from '../support/worker-process.js'

/** One lane of chaos: a real control plane of its own, on which one rollout after the other is killed again and again. */
export class ChaosBed {
  private readonly kube: ControlPlane
  private readonly connection: Connection
  private readonly client: Client
  private readonly temporal: { address: string; namespace: string }
  private readonly kubeconfig: string
  private readonly replayer = new Replayer()

  private constructor(
    kube: ControlPlane,
    connection: Connection,
    temporal: { address: string; namespace: string },
    kubeconfig: string,
  ) {
    this.kube = kube
    this.connection = connection
    this.temporal = temporal
    this.client = new Client({ connection, namespace: temporal.namespace })
    this.kubeconfig = kubeconfig
  }

  static async open(): Promise<ChaosBed> {
    const [kube, temporal] = await Promise.all([startControlPlane({ users: ['noderoll'] }), realTemporal()])
    await grantNoderoll(kube)
    await workflowBundle()
    const connection = await Connection.connect({ address: temporal.address })
    return new ChaosBed(kube, connection, temporal, await kube.kubeconfigFile('noderoll'))
  }

  async close(): Promise<void> {
    await this.replayer.close()
    await this.connection.close()
    await this.kube.stop()
  }

  /** Workers with a Deployment and a budget on them. */
  async startCluster(name: string, workers: number): Promise<ChaosCluster> {
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromString(this.kube.kubeconfig())
    const cloud = new SimulatedCloud({
      offerings: OFFERINGS,
      delays: { stopMs: 50, changeMs: 20, startMs: 50, bootMs: 100 },
    })
    await cloud.start()
    const names = Array.from({ length: workers }, (_, index) => `${name}-w-${index + 1}`)
    for (const machine of names) {
      cloud.addMachine({
        cluster: name,
        name: machine,
        type: 'worker',
        offering: 'small',
        rootDiskGiB: 50,
      })
    }
    const kubelets = new SimulatedKubelets({ kubeConfig, cloud, cluster: name })
    kubelets.start()
    await kubelets.untilReady()
    await this.createWorkload(name)
    return new ChaosCluster(this.kube, cloud, kubelets, name, names)
  }

  /** Rolls the cluster with a worker that dies at each of these points, and a new one after each death. */
  async rollWithKills(
    cluster: ChaosCluster,
    points: readonly KillPoint[],
    maxUnavailable: number,
  ): Promise<{ result: RolloutResult; fired: KillPoint[] }> {
    const taskQueue = `chaos-${cluster.name}`
    const { address, namespace } = this.temporal
    const fired: KillPoint[] = []
    const handle = await this.client.workflow.start('clusterRollout', {
      taskQueue,
      workflowId: `cluster-rollout/${cluster.name}`,
      args: [this.spec(cluster, maxUnavailable)],
    })
    const ended = handle.result() as Promise<RolloutResult>
    const over = ended.then(
      () => 'over' as const,
      () => 'over' as const,
    )
    for (const killPoint of points) {
      const worker = await WorkerProcess.start({ address, namespace, taskQueue, killPoint })
      const what = await Promise.race([worker.exited(), over])
      await worker.end()
      if (what === 'over') break
      fired.push(killPoint)
    }
    const last = await WorkerProcess.start({ address, namespace, taskQueue })
    try {
      const result = await ended
      const history = await this.client.workflow.getHandle(handle.workflowId).fetchHistory()
      await this.replayer.replay({ history, workflowId: handle.workflowId })
      return { result, fired }
    } finally {
      await last.end()
    }
  }

  private spec(cluster: ChaosCluster, maxUnavailable: number): RolloutRequest {
    return {
      cluster: cluster.name,
      kubernetes: { kubeconfig: this.kubeconfig },
      machines: { provider: 'simulated', url: cluster.cloud.url, cluster: cluster.name },
      pools: { worker: { offering: 'large', rootDiskGiB: 80, maxUnavailable } },
      rollout: true,
      verify: { settle: 0 },
    }
  }

  private async createWorkload(name: string): Promise<void> {
    const labels = { app: name }
    await this.kube.api.ok('POST', `/apis/apps/v1/namespaces/default/deployments`, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name },
      spec: {
        replicas: 6,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            terminationGracePeriodSeconds: 0,
            automountServiceAccountToken: false,
            containers: [{ name: 'web', image: 'web' }],
          },
        },
      },
    })
    await this.kube.api.ok('POST', `/apis/policy/v1/namespaces/default/poddisruptionbudgets`, {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name },
      spec: { maxUnavailable: 2, selector: { matchLabels: labels } },
    })
    await waitUntil(
      async () => {
        const found = await this.kube.api.ok('GET', `/apis/apps/v1/namespaces/default/deployments/${name}`)
        return (found as unknown as { status: { readyReplicas?: number } }).status.readyReplicas === 6
      },
      { for: `the pods of ${name}` },
    )
  }
}

export class ChaosCluster {
  readonly cloud: SimulatedCloud
  readonly name: string
  readonly names: readonly string[]
  /** Most machines off at once, at any moment. */
  mostDown = 0
  private readonly kube: ControlPlane
  private readonly kubelets: SimulatedKubelets

  constructor(
    kube: ControlPlane,
    cloud: SimulatedCloud,
    kubelets: SimulatedKubelets,
    name: string,
    names: readonly string[],
  ) {
    this.kube = kube
    this.cloud = cloud
    this.kubelets = kubelets
    this.name = name
    this.names = names
    cloud.machineChanges.subscribe(() => {
      const down = Object.values(cloud.state.machines).filter((machine) => machine.power !== 'running').length
      this.mostDown = Math.max(this.mostDown, down)
    })
  }

  effectiveActs(): LoggedRequest[] {
    return this.cloud.log.acts().filter((request) => request.effective)
  }

  async nodes(): Promise<Node[]> {
    return (await this.kube.api.list('/api/v1/nodes')) as unknown as Node[]
  }

  async close(): Promise<void> {
    await this.kubelets.close({ deleteNodes: true })
    await this.cloud.close()
    await cleanCluster(this.kube)
  }
}
