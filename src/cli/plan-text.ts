import type { PlanReport } from '../api/activities.js'
import { paint } from './paint.js'
import { paragraphs } from './paragraphs.js'
import { poolLines } from './progress-text.js'

/** A plan for a terminal: batches in their order, each node with its reason. */
export function planText(plan: PlanReport): string {
  const { cluster, batches, batchCount, nodeCount } = plan
  const named = batches.reduce((sum, batch) => sum + batch.nodes.length, 0)
  const what =
    nodeCount === 0
      ? 'nothing to do'
      : `${counted(nodeCount, 'node', 'nodes')} in ${counted(batchCount, 'batch', 'batches')}`
  return paragraphs(
    [paint('bold', `${cluster}: ${what}`), ...plan.refusals.map((why) => paint('red', `refused: ${why}`))],
    [
      ...batches.flatMap((batch, index) => [
        `batch ${index + 1} (${batch.recovery ? 'recovery in ' : ''}${batch.pool})`,
        ...batch.nodes.map((node) => `  ${node}`),
      ]),
      ...(named < nodeCount ? [`and ${nodeCount - named} more nodes`] : []),
    ],
    [
      ...plan.startsStopped.map((node) => paint('yellow', `starts ${node}`)),
      ...plan.skipped.map((skip) => paint('yellow', `skips ${skip.name}: ${skip.why}`)),
      ...plan.warnings.map((warning) => paint('yellow', `warning: ${warning}`)),
      ...plan.notes.map((note) => `note: ${note}`),
    ],
    poolLines(plan.pools),
  ).join('\n')
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}
