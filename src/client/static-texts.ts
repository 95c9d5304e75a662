import type { PoolSpec } from '../core/model.js'
import { sayNames } from '../core/progress.js'
import type { RolloutSpec } from '../core/spec.js'

const MOST_POOLS = 20

/** One line for Temporal's list of workflows; the server takes 200 characters. */
export function staticSummary({ target, pools, rollout }: RolloutSpec): string {
  const names = pools.length === 0 ? 'stored settings' : sayNames(pools.map((pool) => pool.name))
  return `${rollout ? 'roll' : 'store settings of'} ${target.cluster}: ${names}`.slice(0, 200)
}

/** What was asked and by whom, as Markdown: beside the workflow in Temporal's Web UI for ever. */
export function staticDetails({ target, pools, rollout }: RolloutSpec, by: string | null): string {
  const lines = [
    `**${target.cluster}** on ${target.machines.provider}${by === null ? '' : `, started by ${by}`}`,
    '',
    ...pools.slice(0, MOST_POOLS).map((pool) => `- ${sayPool(pool)}: ${sayAsked(pool, rollout)}`),
  ]
  if (pools.length > MOST_POOLS) lines.push(`- and ${pools.length - MOST_POOLS} more`)
  if (!rollout) lines.push('- settings are stored, no node is touched')
  return lines.join('\n')
}

function sayPool({ name, type }: PoolSpec): string {
  return name === type ? `pool ${name}` : `pool ${name} (${type})`
}

function sayAsked({ type, asked, maxUnavailable }: PoolSpec, rollout: boolean): string {
  const { offerings, rootDiskGiB, affinityGroups } = asked
  const most = 'count' in maxUnavailable ? `${maxUnavailable.count}` : `${maxUnavailable.percent}%`
  const parts = [
    ...(offerings === null ? [] : [`offering ${offerings.join(' or ')}`]),
    ...(rootDiskGiB === null ? [] : [`root disk ${rootDiskGiB} GiB`]),
    ...(affinityGroups === null ? [] : [`affinity groups ${affinityGroups.join(', ') || 'none'}`]),
  ]
  const what = parts.length === 0 ? 'as stored' : parts.join(', ')
  return rollout && type === 'worker' ? `${what}; ${most} at a time` : what
}
