import { type Batch, batchNodeName } from '../core/batch.js'
import {
  isHopeless,
  type NodePods,
  nodesUnder,
  sayHopeless,
  withoutSharedBudgets,
} from '../core/disruption-budgets.js'
import type { BudgetRecord } from '../core/pods.js'
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
  const [warnings, notes] = await Promise.all([
    hopelessBudgets({ cluster }, nodes, budgets, signal),
    smallerBatches({ cluster }, batches, budgets, signal),
  ])
  return { warnings, notes }
}

async function hopelessBudgets(
  { cluster }: Pick<Connections, 'cluster'>,
  nodes: readonly string[],
  budgets: readonly BudgetRecord[],
  signal: AbortSignal,
): Promise<string[]> {
  const hopeless = budgets.filter(isHopeless)
  if (hopeless.length === 0) return []
  if (nodes.length > MOST_NODES) return hopeless.map((budget) => sayHopeless(budget, []))
  const pods = await podsOf({ cluster }, nodes, signal)
  return hopeless.flatMap((budget) => {
    const held = nodesUnder(budget, pods)
    return held.length === 0 ? [] : [sayHopeless(budget, held)]
  })
}

/** Where pods will be when later batches come, nobody knows: the first batch that would get smaller speaks for the others. */
async function smallerBatches(
  { cluster }: Pick<Connections, 'cluster'>,
  batches: readonly Batch[],
  budgets: readonly BudgetRecord[],
  signal: AbortSignal,
): Promise<string[]> {
  const first = batches.find((batch) => nodesToDrain([batch]).length > 1)
  if (first === undefined || budgets.length === 0) return []
  const pods = await podsOf({ cluster }, nodesToDrain([first]).slice(0, MOST_NODES), signal)
  const { notes } = withoutSharedBudgets(first, pods, budgets)
  return notes.length === 0
    ? []
    : [
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
