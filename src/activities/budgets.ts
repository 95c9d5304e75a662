import { type Batch, batchNodeName } from '../core/batch.js'
import {
  isHopeless,
  type NodePods,
  nodesUnder,
  sayHopeless,
  withoutSharedBudgets,
} from '../core/disruption-budgets.js'
import type { Connections } from '../ports/connections.js'

const LISTS_AT_ONCE = 10
/** Of more nodes than these the pods are not read for a plan: it warns of every hopeless budget then. */
const MOST_NODES = 50

/**
 * The batch without the nodes whose drains would hold each other up at a shared budget, and why. Reads one list of
 * budgets and the pods of the candidates, and neither where a single node is to be drained. Throws `PortError`.
 */
export async function withinSharedBudgets(
  { cluster }: Connections,
  batch: Batch,
  signal: AbortSignal,
): Promise<{ readonly batch: Batch; readonly notes: readonly string[] }> {
  const drained = nodesToDrain([batch])
  const budgets = drained.length > 1 ? await cluster.budgets(null, signal) : []
  if (budgets.length === 0) return { batch, notes: [] }
  return withoutSharedBudgets(batch, await podsOf({ cluster }, drained, signal), budgets)
}

/** Budgets that would hold up a drain of these batches for ever, one sentence each. Throws `PortError`. */
export async function hopelessBudgets(
  { cluster }: Connections,
  batches: readonly Batch[],
  signal: AbortSignal,
): Promise<string[]> {
  const nodes = nodesToDrain(batches)
  if (nodes.length === 0) return []
  const hopeless = (await cluster.budgets(null, signal)).filter(isHopeless)
  if (hopeless.length === 0) return []
  if (nodes.length > MOST_NODES) return hopeless.map((budget) => sayHopeless(budget, []))
  const pods = await podsOf({ cluster }, nodes, signal)
  return hopeless.flatMap((budget) => {
    const held = nodesUnder(budget, pods)
    return held.length === 0 ? [] : [sayHopeless(budget, held)]
  })
}

function nodesToDrain(batches: readonly Batch[]): string[] {
  const nodes = batches.flatMap((batch) => batch.nodes)
  return [...new Set(nodes.filter(({ how, node }) => how === 'roll' && node !== null).map(batchNodeName))]
}

async function podsOf(
  { cluster }: Pick<Connections, 'cluster'>,
  nodes: readonly string[],
  signal: AbortSignal,
): Promise<NodePods[]> {
  const read: NodePods[] = []
  for (let i = 0; i < nodes.length; i += LISTS_AT_ONCE) {
    const some = nodes.slice(i, i + LISTS_AT_ONCE)
    read.push(
      ...(await Promise.all(some.map(async (node) => ({ node, pods: await cluster.podsOn(node, signal) })))),
    )
  }
  return read
}
