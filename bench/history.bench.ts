import type { SimulatedCluster } from '../src/simulation/cluster.js'
import { BenchBed } from './bed.js'
import { figure } from './figure.js'

const NODES = 300

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
    const history = await bed.client.workflow.getHandle(workflowId, run.runId).fetchHistory()
    const found = history.events ?? []
    events += found.length
    mostEvents = Math.max(mostEvents, found.length)
    for (const event of found) mostBytes = Math.max(mostBytes, ...payloadSizes(event))
  }
  return events / NODES
}

/** Sizes of all payloads anywhere in an event. */
function payloadSizes(value: unknown): number[] {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [0]
  if ('metadata' in value && 'data' in value && value.data instanceof Uint8Array) return [value.data.length]
  return [0, ...Object.values(value).flatMap(payloadSizes)]
}
