import { randomUUID } from 'node:crypto'
import { KubeConfig } from '@kubernetes/client-node'
import { type Client, Connection, WorkflowFailedError, type WorkflowHandle } from '@temporalio/client'
import { ApplicationFailure } from '@temporalio/common'
import { NativeConnection } from '@temporalio/worker'
import type { RolloutResult } from '../../src/api/results.js'
import { MARK_KEYS } from '../../src/core/marks.js'
import {
  type SimulatedCluster,
  type SimulatedClusterOptions,
  startSimulatedCluster,
} from '../../src/simulation/cluster.js'
import type { RolloutRequest } from '../../src/spec/schema.js'
import { createWorker } from '../../src/worker/create-worker.js'
import { grantNoderoll } from '../providers/kubernetes/bed.js'
import { workflowBundle } from './bundle.js'
import { cleanCluster, type RealControlPlane, realControlPlane, realTemporal } from './parts.js'
import type { FaultProxy } from './proxy.js'
import './quiet-runtime.js'
import { StartedWorkflows } from './started-workflows.js'
import { tellOnFailure } from './tell-on-failure.js'
import type { TemporalServer } from './temporal.js'
import { WorkerProcess, type WorkerProcessSettings } from './worker-process.js'

export const CLUSTER = 'prod'

export interface Node {
  metadata: {
    name: string
    uid: string
    annotations?: Record<string, string>
    labels?: Record<string, string>
  }
  spec: {
    unschedulable?: boolean
    providerID?: string
    taints?: { key: string; value?: string; effect: string }[]
  }
  status: {
    nodeInfo: { bootID: string }
    conditions: { type: string; status: string }[]
    capacity: Record<string, string>
  }
}

/** Everything a rollout story needs, on real parts: one per test file. */
export class RolloutBed {
  readonly kube: RealControlPlane
  readonly client: Client
  /** To the shared server's namespace `default`, which no other test uses for rollouts. */
  readonly elsewhere: Client
  readonly namespace: string
  readonly address: string
  readonly taskQueue = `noderoll-${randomUUID()}`
  readonly temporalCli: string | undefined
  /** One worker for all tests of a file in which none starts a workflow before it: a start costs half a second of a processor. */
  keepsWorker = false
  cluster!: SimulatedCluster
  private readonly connection: Connection
  private worker: { stop(): Promise<void> } | null = null
  private kubeconfig = ''
  private readonly processes: WorkerProcess[] = []
  readonly workflows = new StartedWorkflows()

  private constructor(
    kube: RealControlPlane,
    connection: Connection,
    temporal: { namespace: string; address: string; cli: string | undefined },
  ) {
    this.kube = kube
    this.connection = connection
    this.namespace = temporal.namespace
    this.address = temporal.address
    this.temporalCli = temporal.cli
    this.client = this.workflows.client(connection, temporal.namespace)
    this.elsewhere = this.workflows.client(connection, 'default')
  }

  /** On the shared Temporal server unless the test has one with settings of its own. */
  static async open(
    own?: Pick<TemporalServer, 'address' | 'cli'> & { namespace?: string },
    ownControlPlane?: RealControlPlane,
  ): Promise<RolloutBed> {
    const [kube, temporal] = await Promise.all([
      ownControlPlane ?? realControlPlane(),
      own === undefined ? realTemporal() : { ...own, namespace: own.namespace ?? 'default' },
    ])
    const connection = await Connection.connect({ address: temporal.address })
    const bed = new RolloutBed(kube, connection, temporal)
    await grantNoderoll(kube)
    bed.kubeconfig = await kube.kubeconfigFile('noderoll')
    return bed
  }

  async close(): Promise<void> {
    await this.stopWorker()
    await this.workflows.close()
    await this.connection.close()
    this.kube.close()
  }

  /** Machines and their Nodes, as small and fast as can be unless told otherwise. */
  async startCluster(options: Partial<SimulatedClusterOptions> = {}): Promise<SimulatedCluster> {
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromString(this.kube.kubeconfig('kubelet'))
    this.cluster = await startSimulatedCluster({
      kubeConfig,
      cluster: CLUSTER,
      control: 0,
      workers: 3,
      offerings: OFFERINGS,
      affinityGroups: GROUPS,
      machine: { offering: 'small', rootDiskGiB: 50 },
      ...options,
    })
    return this.cluster
  }

  /** Ends what a test left running, empties the cluster, and replays every workflow that the test has started. */
  async clean(): Promise<void> {
    const leftRunning = await this.workflows.terminate()
    // A step of a workflow that was terminated goes on until it hears of it: not in the next test.
    if (!this.keepsWorker || leftRunning > 0) await this.stopWorker()
    await Promise.all(this.processes.splice(0).map((worker) => worker.end()))
    await this.cluster?.close()
    await cleanCluster(this.kube)
    await this.workflows.replay()
  }

  /** A worker in this process; the one that is kept, where there is one. */
  async startWorker(taskQueue = this.taskQueue, namespace = this.namespace): Promise<void> {
    if (this.keepsWorker && this.worker !== null) return
    const connection = await NativeConnection.connect({ address: this.address })
    const worker = await createWorker({
      connection,
      namespace,
      taskQueue,
      address: this.address,
      workflowBundle: await workflowBundle(),
      shutdownGraceSeconds: 1,
      // Workflows in this thread, as in a replay: with one of its own a worker's start and stop take a processor 0.23 s, so
      // 0.03 s. Workers in processes of their own have such threads.
      more: { debugMode: true },
    })
    const running = worker.run()
    this.worker = {
      stop: async () => {
        worker.shutdown()
        await running
        await connection.close()
      },
    }
  }

  /** Workers reach the API server through the proxy from now on, or directly with null. */
  async reachThrough(proxy: FaultProxy | null): Promise<void> {
    this.kubeconfig =
      proxy === null
        ? await this.kube.kubeconfigFile('noderoll')
        : await this.kube.kubeconfigFile('noderoll', proxy.url, { ca: proxy.ca })
  }

  /** A worker in a process of its own, to be killed or frozen. Ended by `clean`. */
  async startWorkerProcess(
    namespace = this.namespace,
    more: Pick<WorkerProcessSettings, 'place' | 'knowsTemporalAs'> = {},
  ): Promise<WorkerProcess> {
    const worker = await WorkerProcess.start({
      address: this.address,
      namespace,
      taskQueue: this.taskQueue,
      ...more,
    })
    this.processes.push(worker)
    return worker
  }

  async stopWorker(): Promise<void> {
    await this.worker?.stop()
    this.worker = null
  }

  /** A spec for this cluster with short limits; what is given comes on top. */
  spec(changes: Partial<RolloutRequest> = {}): RolloutRequest {
    return {
      ...this.target(),
      rollout: true,
      drain: { timeout: '20s' },
      preflight: { timeout: '15s' },
      verify: { timeout: '30s', settle: 0 },
      batchTimeout: '60s',
      changeReserve: '5s',
      machineTimeout: '30s',
      releaseTimeout: '60s',
      ...changes,
    }
  }

  target(): Pick<RolloutRequest, 'cluster' | 'kubernetes' | 'machines' | 'etcd'> {
    return {
      cluster: CLUSTER,
      kubernetes: { kubeconfig: this.kubeconfig },
      machines: { provider: 'simulated', ...this.cluster.access },
      etcd: { provider: 'simulated', ...this.cluster.access },
    }
  }

  async start(spec: unknown, workflowId = `cluster-rollout/${CLUSTER}`): Promise<WorkflowHandle> {
    return this.startType('clusterRollout', spec, workflowId)
  }

  async startType(
    type: string,
    input: unknown,
    workflowId: string = randomUUID(),
    client = this.client,
  ): Promise<WorkflowHandle> {
    const handle = await client.workflow.start(type, { taskQueue: this.taskQueue, workflowId, args: [input] })
    tellOnFailure(handle)
    return handle
  }

  /** Starts a rollout and waits for its end. */
  async roll(changes: Partial<RolloutRequest>): Promise<RolloutEnd> {
    return this.endOf(await this.start(this.spec(changes)))
  }

  /** How a workflow ended. */
  async endOf(handle: WorkflowHandle): Promise<RolloutEnd> {
    try {
      return { kind: 'completed', result: (await handle.result()) as RolloutResult }
    } catch (error) {
      if (!(error instanceof WorkflowFailedError)) throw error
      const { cause } = error
      if (!(cause instanceof ApplicationFailure)) return { kind: 'canceled', message: String(cause?.message) }
      return {
        kind: 'failed',
        type: cause.type ?? '',
        message: cause.message,
        result: cause.details?.[0] as RolloutResult,
      }
    }
  }

  async node(name: string): Promise<Node> {
    return (await this.kube.api.ok('GET', `/api/v1/nodes/${name}`)) as unknown as Node
  }

  async nodes(): Promise<Node[]> {
    return (await this.kube.api.list('/api/v1/nodes')) as unknown as Node[]
  }

  /** The ConfigMap `noderoll`, or null. */
  async record(): Promise<Record<string, string> | null> {
    const answer = await this.kube.api.call('GET', '/api/v1/namespaces/kube-system/configmaps/noderoll')
    return answer.status === 404 ? null : ((answer.body as { data: Record<string, string> }).data ?? {})
  }

  async leaseHolder(): Promise<string | null> {
    const answer = await this.kube.api.call(
      'GET',
      '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/noderoll',
    )
    if (answer.status === 404) return null
    return (answer.body as { spec: { holderIdentity?: string } }).spec.holderIdentity || null
  }

  /** The calls that changed something at the cloud, as `stop w-1`, in order of arrival. */
  acts(effective = true): string[] {
    return this.cluster.cloud.log
      .acts()
      .filter((request) => !effective || request.effective)
      .map((request) => `${request.call} ${request.machine}`)
  }
}

export const OFFERINGS = [
  { name: 'small', cpu: 2, memoryMiB: 4096 },
  { name: 'large', cpu: 4, memoryMiB: 8192 },
  { name: 'huge', cpu: 8, memoryMiB: 16384 },
] as const

const GROUPS = [
  { name: 'spread-a', explicitDedication: false },
  { name: 'spread-b', explicitDedication: false },
  { name: 'dedicated', explicitDedication: true },
] as const

export type RolloutEnd =
  | { readonly kind: 'completed'; readonly result: RolloutResult }
  | {
      readonly kind: 'failed'
      readonly type: string
      readonly message: string
      readonly result: RolloutResult
    }
  | { readonly kind: 'canceled'; readonly message: string }

/** The marks of ours a node carries. */
export function marksOf(node: Node): string[] {
  const keys = Object.keys(node.metadata.annotations ?? {})
  return keys.filter(
    (key) => Object.values(MARK_KEYS).includes(key as never) || key.startsWith('noderoll.io/'),
  )
}
