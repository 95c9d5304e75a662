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

/**
 * What disruption budgets mean for a plan, in sentences: those that would hold up a drain for ever, and whether batches
 * come out smaller than planned. Reads one list of budgets. Throws `PortError`.
 */
export async function budgetsInPlan(
  { cluster }: Connections,
  batches: readonly Batch[],
  signal: AbortSignal,
): Promise<{ readonly warnings: readonly string[]; readonly notes: readonly string[] }> {
  const nodes = nodesToDrain(batches)
  const budgets = nodes.length === 0 ? [] : await cluster.budgets(null, signal)
  const hopeless = budgets.filter(isHopeless)
  const first = batches.find((batch) => nodesToDrain([batch]).length > 1)
  if (budgets.length === 0 || (hopeless.length === 0 && first === undefined))
    return { warnings: [], notes: [] }
  const isSmall = nodes.length <= MOST_NODES
  const read = hopeless.length > 0 && isSmall ? nodes : first === undefined ? [] : nodesToDrain([first])
  const pods = await podsOf({ cluster }, read.slice(0, MOST_NODES), signal)
  return {
    warnings: hopeless.flatMap((budget) => {
      const held = isSmall ? nodesUnder(budget, pods) : []
      return isSmall && held.length === 0 ? [] : [sayHopeless(budget, held)]
    }),
    notes: first === undefined ? [] : saySmaller(withoutSharedBudgets(first, pods, budgets).notes),
  }
}

/** Where pods will be when later batches come, nobody knows: the first batch that would get smaller speaks for the others. */
function saySmaller(notes: readonly string[]): string[] {
  if (notes.length === 0) return []
  return [
    `batches get smaller, and more, where nodes share a disruption budget; the first one so: ${notes.join('; ')}`,
  ]
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
