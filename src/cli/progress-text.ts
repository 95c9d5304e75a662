import type { PoolCounts } from '../core/batch.js'
import type { Progress } from '../core/progress.js'
import { paint } from './paint.js'
import { paragraphs } from './paragraphs.js'
import { table } from './table.js'
import { terminalWidth } from './terminal.js'

/** Progress for a terminal: the headline, the nodes of the batch, the pools, and what a person should know. */
export function progressText(progress: Progress): string {
  const nodes = progress.nodes.map((node) => [
    node.node,
    node.pool,
    node.step,
    shortTime(node.since),
    node.waitsFor.join('; '),
  ])
  return paragraphs(
    [
      `${paint('bold', progress.cluster)}: ${headline(progress)}`,
      ...progress.waitsFor.map((why) => paint('yellow', `waits for: ${why}`)),
    ],
    table([['NODE', 'POOL', 'STEP', 'SINCE', 'WAITS FOR'], ...nodes], terminalWidth()),
    poolLines(progress.pools),
    [
      ...progress.skipped.map((skip) => paint('yellow', `skipped ${skip.name}: ${skip.why}`)),
      ...progress.notes.map((note) => `note: ${note}`),
      ...(progress.lastError === null ? [] : [paint('red', `last error: ${progress.lastError}`)]),
    ],
  ).join('\n')
}

/** `rolling, batch 2 (worker), 3 done, 5 out of date, cancel requested, until about 12:30:00Z` */
export function headline(progress: Progress): string {
  const { batch, cancelRequested, done, expectedEnd, paused, phase, pools } = progress
  const left = pools.reduce((sum, pool) => sum + pool.outOfDate, 0)
  return [
    phase,
    ...(paused && phase !== 'paused' && phase !== 'ended' ? ['to pause after this batch'] : []),
    ...(batch === null
      ? []
      : [`batch ${batch.number} (${batch.recovery ? 'recovery in ' : ''}${batch.pool})`]),
    `${done.count} done`,
    ...(pools.length === 0 ? [] : [`${left} out of date`]),
    ...(cancelRequested === 'no' ? [] : ['cancel requested']),
    ...(expectedEnd === null || phase === 'ended' ? [] : [`until about ${shortTime(expectedEnd)}`]),
  ].join(', ')
}

export function poolLines(pools: readonly PoolCounts[]): string[] {
  const rows = pools.map((pool) => [
    pool.pool,
    pool.type,
    `${pool.machines}`,
    `${pool.outOfDate}`,
    `${pool.unavailable}`,
  ])
  return table([['POOL', 'TYPE', 'MACHINES', 'OUT OF DATE', 'UNAVAILABLE'], ...rows])
}

/** `11:02:03Z`: always UTC, as in Temporal and on the nodes. */
export function shortTime(iso: string): string {
  return `${iso.slice(11, 19)}Z`
}
