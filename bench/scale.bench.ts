import { Client, Connection } from '@temporalio/client'
import type { PlanReport } from '../src/api/activities.js'
import type { RolloutResult } from '../src/api/results.js'
import { startControlPlane } from '../test/support/control-plane.js'
import { startTemporal } from '../test/support/temporal.js'
import { CountingRelay } from './counting-relay.js'
import { figure } from './figure.js'
import { LargeCluster } from './large-cluster.js'
import { MeasuredWorker } from './measured-worker.js'
import { AS_SERVERS_HAVE_IT, queueReads } from './server-defaults.js'

const SIZES = (process.argv[2] ?? '100,1000,5000').split(',').map(Number)
const PODS_PER_NODE = 10
const NODES_PER_BATCH = 5
const BATCHES = 4
const TASK_QUEUE = 'bench'

console.error(
  'A real etcd and kube-apiserver without any controller (no node lifecycle, no taint eviction) and without kubelets: ' +
    'the Node objects are written in bulk, and nothing reports about them but what a batch does.',
)
const [kube, temporal] = await Promise.all([
  startControlPlane({
    name: 'scale',
    users: [{ name: 'noderoll', groups: ['system:masters'] }],
    controllerManager: false,
    scheduler: false,
  }),
  startTemporal(queueReads(AS_SERVERS_HAVE_IT)),
])
const relay = await CountingRelay.start(kube.url)
const kubeconfig = await kube.kubeconfigFile('noderoll', relay.url)
const cluster = new LargeCluster('scale', kube)
await cluster.start()
const connection = await Connection.connect({ address: temporal.address })
const client = new Client({ connection })

/** How many of the nodes added last have been rolled. */
let rolled = 0
for (const size of SIZES) {
  rolled = 0
  const began = performance.now()
  await cluster.growTo(size, PODS_PER_NODE)
  figure('scale', `load_seconds_${size}`, (performance.now() - began) / 1000, 's')
  const worker = await MeasuredWorker.start(temporal.address, TASK_QUEUE, kube.access.folder)
  const last = size === SIZES.at(-1)
  if (last) figure('scale', 'rss_mb_idle', worker.peakMb(), 'MB')
  await planSeconds(worker, last ? '' : `_${size}`)
  await perBatch(size)
  if (last) figure('scale', 'rss_mb', worker.peakMb(), 'MB')
  await worker.stop()
}

await connection.close()
await cluster.close()
relay.stop()
await kube.stop()
await temporal.stop()

/** The plan of all nodes, one by one: the first one of a worker, which has to list everything, and the median of three later. */
async function planSeconds(worker: MeasuredWorker, suffix: string): Promise<void> {
  const seconds: number[] = []
  const cpuSeconds: number[] = []
  for (let n = 0; n < 4; n++) {
    const began = performance.now()
    const cpu = worker.cpuSeconds()
    const plan = (await client.workflow.execute('planRollout', {
      taskQueue: TASK_QUEUE,
      workflowId: `plan${suffix}-${n}`,
      args: [spec({ offering: 'xlarge' })],
    })) as PlanReport
    seconds.push((performance.now() - began) / 1000)
    cpuSeconds.push(worker.cpuSeconds() - cpu)
    if (plan.nodeCount !== cluster.machines.length)
      throw new Error(`planned ${plan.nodeCount}: ${plan.refusals}`)
  }
  const [cold = 0, ...warm] = seconds
  figure('scale', `plan_seconds_cold${suffix}`, cold, 's')
  figure('scale', `plan_seconds${suffix}`, median(warm), 's')
  figure('scale', `plan_cpu_seconds${suffix}`, median(cpuSeconds.slice(1)), 's')
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

/** What `BATCHES` batches cost more than one: what a rollout costs in any case is no batch's. */
async function perBatch(size: number): Promise<void> {
  // The first rollout of a worker is slow, and so looks more often at what has not happened yet.
  await roll(size, 1, 'first')
  const one = await roll(size, 1, 'one')
  const several = await roll(size, 1 + BATCHES, 'several')
  const each = (of: keyof Cost) => (several[of] - one[of]) / BATCHES
  figure('scale', `requests_per_batch_${size}`, each('requests'), 'requests')
  figure('scale', `bytes_per_batch_${size}`, each('bytes'), 'bytes')
  figure('scale', `cloud_requests_per_batch_${size}`, each('cloud'), 'requests')
  figure('scale', `seconds_per_batch_${size}`, each('seconds'), 's')
}

interface Cost {
  readonly requests: number
  readonly bytes: number
  readonly cloud: number
  readonly seconds: number
}

async function roll(size: number, batches: number, name: string): Promise<Cost> {
  const workflowId = `roll-${size}-${name}`
  const nodes = batches * NODES_PER_BATCH
  // Each rollout has nodes of its own, which still have their pods: nobody puts any back.
  for (const machine of cluster.machines.slice(-nodes - rolled, rolled === 0 ? undefined : -rolled))
    machine.offering = 'small'
  rolled += nodes
  const mark = await kube.audit.mark()
  const bytes = relay.bytesReceived
  const cloud = cloudRequests()
  const began = performance.now()
  const result = (await client.workflow.execute('clusterRollout', {
    taskQueue: TASK_QUEUE,
    workflowId,
    args: [spec({ offering: 'large', maxUnavailable: NODES_PER_BATCH })],
  })) as RolloutResult
  const seconds = (performance.now() - began) / 1000
  if (result.done.count !== nodes) throw new Error(`${result.done.count} of ${nodes} were rolled`)
  await kube.audit.settled()
  const requests = (await kube.audit.since(mark, { user: 'noderoll' })).length
  return {
    requests,
    bytes: relay.bytesReceived - bytes,
    cloud: cloudRequests() - cloud,
    seconds,
  }
}

function cloudRequests(): number {
  return cluster.cloud.log.all().at(-1)?.number ?? 0
}

function spec(worker: { offering: string; maxUnavailable?: number }): unknown {
  return {
    cluster: 'scale',
    kubernetes: { kubeconfig },
    machines: { provider: 'simulated', url: cluster.cloud.url, cluster: cluster.name },
    pools: { worker },
    rollout: true,
    verify: { settle: 0 },
  }
}
