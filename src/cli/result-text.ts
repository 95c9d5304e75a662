import type { RolloutResult } from '../api/results.js'
import { sayNames } from '../core/progress.js'
import { paint } from './paint.js'
import { paragraphs } from './paragraphs.js'
import { poolLines } from './progress-text.js'

/** How a rollout ended, for a terminal. */
export function resultText(result: RolloutResult): string {
  return paragraphs(
    [headline(result)],
    [
      ...result.failed.map((one) =>
        paint('red', `failed ${one.node} at ${one.step}: ${one.reason}; ${one.outcome}`),
      ),
      ...result.skipped.map((one) => paint('yellow', `skipped ${one.name}: ${one.why}`)),
      ...result.leftCordoned
        .filter(isNewsOf(result))
        .map((one) => paint('yellow', `left cordoned ${one.name}: ${one.why}`)),
      ...result.warnings.map((warning) => `note: ${warning}`),
    ],
    poolLines(result.pools),
    isNews(result) ? [`last error: ${result.lastError}`] : [],
  ).join('\n')
}

function headline({ cluster, outcome, state, done }: RolloutResult): string {
  const names = done.count === 0 ? '' : ` (${sayNames(done.names)})`
  const what =
    outcome === 'stored'
      ? 'settings stored'
      : `${outcome}, ${done.count} ${done.count === 1 ? 'node' : 'nodes'} rolled${names}`
  const color =
    outcome === 'failed' ? 'red' : outcome === 'cancelled' || state === 'Alert' ? 'yellow' : 'green'
  return paint(color, `${cluster}: ${what}${state === null ? '' : `; the cluster is ${state}`}`)
}

/** What became of a node that failed is said with its failure already. */
function isNewsOf({ failed }: RolloutResult): (left: { readonly name: string }) => boolean {
  return ({ name }) => !failed.some(({ node }) => node === name)
}

/** The reason of a node that failed is said already. */
function isNews({ failed, lastError }: RolloutResult): boolean {
  return lastError !== null && !failed.some(({ reason }) => lastError.includes(reason))
}
