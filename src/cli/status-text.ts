import type { ClusterStatus, PoolStatus } from '../api/activities.js'
import { sayNames } from '../core/progress.js'
import { paint } from './paint.js'
import { paragraphs } from './paragraphs.js'
import { poolLines } from './progress-text.js'

/** A cluster as it is, for a terminal. */
export function statusText(status: ClusterStatus): string {
  const { capacity, holder, lastError, nextPage } = status
  return paragraphs(
    [
      `${paint('bold', status.cluster)}: ${status.state ?? 'nothing is stored yet'}`,
      ...(holder === null ? [] : [`held by ${holder} since ${status.holderSince ?? 'an unknown time'}`]),
      ...(lastError === null ? [] : [paint('red', `last error: ${lastError}`)]),
    ],
    poolLines(status.pools),
    [
      ...status.pools.flatMap(settingsLine),
      ...(capacity === null
        ? []
        : [`capacity: ${capacity.machines} machines, ${capacity.cpu} CPU, ${capacity.memoryMiB} MiB`]),
    ],
    [
      ...status.pools.flatMap(outOfDateLine),
      ...status.marked.map((mark) => paint('yellow', `marked ${mark.name}: ${mark.why}`)),
      ...status.problems.map((problem) => paint('red', `problem: ${problem}`)),
      ...(nextPage === null ? [] : [`there is more: --page ${nextPage}`]),
    ],
  ).join('\n')
}

function outOfDateLine({ pool, outOfDateNodes }: PoolStatus): string[] {
  if (outOfDateNodes.length === 0) return []
  return [`out of date in ${pool}: ${sayNames(outOfDateNodes, outOfDateNodes.length)}`]
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
