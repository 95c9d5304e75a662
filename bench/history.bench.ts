import type { PlanReport } from '../src/api/activities.js'
import type { SimulatedCluster } from '../src/simulation/cluster.js'
import { BenchBed } from './bed.js'
import { figure } from './figure.js'

const NODES = 300
const PLANNED_NODES = 5_000

const planned = await planOfMany()
figure('history', 'plan_5000_seconds', planned.seconds, 's')
figure('history', 'plan_5000_events', planned.events, 'events')
figure('history', 'plan_5000_max_payload_bytes', planned.bytes, 'bytes')

const bed = await BenchBed.open()
const cluster = await bed.startCluster({ workers: NODES, kubelets: { leaseRenewMs: 20_000 } })

let mostEvents = 0
let mostBytes = 0
figure('history', 'events_per_node', await eventsPerNode(cluster, 'one', 'medium', 1), 'events')
figure('history', 'events_per_node_batch10', await eventsPerNode(cluster, 'ten', 'large', 10), 'events')
figure('history', 'events_per_node_half', await eventsPerNode(cluster, 'half', 'xlarge', '50%'), 'events')
figure('history', 'max_events_per_run', mostEvents, 'events')
figure('history', 'max_payload_bytes', mostBytes, 'bytes')

await cluster.close({ deleteNodes: false })
await bed.close()

/** Rolls all nodes and counts the events of all runs; notes the longest run and the largest payload. */
async function eventsPerNode(
  world: SimulatedCluster,
  workflowId: string,
  offering: string,
  maxUnavailable: number | string,
): Promise<number> {
  const spec = await bed.spec(world, { pools: { worker: { offering, maxUnavailable } } })
  const { result } = await bed.roll(spec, workflowId)
  if (result.done.count !== NODES) throw new Error(`${result.done.count} of ${NODES} nodes were rolled`)
  let events = 0
  for await (const run of bed.client.workflow.list({ query: `WorkflowId = "${workflowId}"` })) {
    const found = await eventsOf(bed, workflowId, run.runId)
    events += found.length
    mostEvents = Math.max(mostEvents, found.length)
    mostBytes = Math.max(mostBytes, largestPayload(found))
  }
  return events / NODES
}

/** `planRollout` of a cluster of thousands, which the embedded Kubernetes holds. */
async function planOfMany(): Promise<{ seconds: number; events: number; bytes: number }> {
  const embedded = await BenchBed.open('embedded')
  const many = await embedded.startCluster({ workers: PLANNED_NODES, kubelets: { leaseRenewMs: 0 } })
  const spec = await embedded.spec(many, { pools: { worker: { offering: 'medium', maxUnavailable: '10%' } } })
  const startedAt = performance.now()
  const plan = (await embedded.execute('planRollout', spec, 'plan')) as PlanReport
  const seconds = (performance.now() - startedAt) / 1000
  if (plan.nodeCount !== PLANNED_NODES) throw new Error(`${plan.nodeCount} nodes were planned`)
  const events = await eventsOf(embedded, 'plan')
  await many.close({ deleteNodes: false })
  await embedded.close()
  return { seconds, events: events.length, bytes: largestPayload(events) }
}

async function eventsOf({ client }: BenchBed, workflowId: string, runId?: string): Promise<object[]> {
  return (await client.workflow.getHandle(workflowId, runId).fetchHistory()).events ?? []
}

function largestPayload(events: readonly object[]): number {
  return events.reduce((most, event) => Math.max(most, ...payloadSizes(event)), 0)
}

/** Sizes of all payloads anywhere in an event. */
function payloadSizes(value: unknown): number[] {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [0]
  if ('metadata' in value && 'data' in value && value.data instanceof Uint8Array) return [value.data.length]
  return [0, ...Object.values(value).flatMap(payloadSizes)]
}
