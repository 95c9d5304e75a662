import type { ClusterStatus, PoolStatus } from '../api/activities.js'
import { sayNames } from '../core/progress.js'
import { paint } from './paint.js'
import { poolLines } from './progress-text.js'

/** A cluster as it is, for a terminal. */
export function statusText(status: ClusterStatus): string {
  const { capacity, holder, lastError, nextPage } = status
  return [
    `${paint('bold', status.cluster)}: ${status.state ?? 'nothing is stored yet'}`,
    ...(holder === null ? [] : [`held by ${holder} since ${status.holderSince ?? 'an unknown time'}`]),
    ...(lastError === null ? [] : [paint('red', `last error: ${lastError}`)]),
    ...poolLines(status.pools),
    ...status.pools.flatMap(settingsLine),
    ...status.pools.flatMap((pool) =>
      pool.outOfDateNodes.length === 0
        ? []
        : [`out of date in ${pool.pool}: ${sayNames(pool.outOfDateNodes, pool.outOfDateNodes.length)}`],
    ),
    ...status.marked.map((mark) => paint('yellow', `marked ${mark.name}: ${mark.why}`)),
    ...status.problems.map((problem) => paint('red', `problem: ${problem}`)),
    ...(capacity === null
      ? []
      : [`capacity: ${capacity.machines} machines, ${capacity.cpu} CPU, ${capacity.memoryMiB} MiB`]),
    ...(nextPage === null ? [] : [`there is more: --page ${nextPage}`]),
  ].join('\n')
}

function settingsLine({ pool, settings }: PoolStatus): string[] {
  if (settings === null) return []
  const parts = [
    ...(settings.offerings === null ? [] : [`offering ${settings.offerings.join(' or ')}`]),
    ...(settings.rootDiskGiB === null ? [] : [`root disk ${settings.rootDiskGiB} GiB`]),
    ...(settings.affinityGroups === null
      ? []
      : [`affinity groups ${settings.affinityGroups.join(', ') || 'none'}`]),
  ]
  return parts.length === 0 ? [] : [`settings of ${pool}: ${parts.join(', ')}`]
}
