import { ApplicationFailure } from '@temporalio/common'
import type { SetMaxUnavailable } from '../api/messages.js'
import type { PoolCounts } from '../core/batch.js'
import { unavailableClamp } from '../core/budget.js'
import type { MaxUnavailable } from '../core/model.js'

/** Reads `2` or `"25%"`. Throws `InvalidSpec` for anything else: an update is refused before it is accepted. */
export function mustBeMaxUnavailable(value: unknown): MaxUnavailable {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return { count: value }
  const percent = typeof value === 'string' ? Number(/^(\d{1,3})%$/.exec(value)?.[1] ?? 0) : 0
  if (percent >= 1 && percent <= 100) return { percent }
  throw invalid('maxUnavailable must be an integer of at least 1 or a percentage such as "25%"')
}

/** What the update changes, by pool, and in words what is in force then. Throws `InvalidSpec` when it names no worker pool. */
export function maxUnavailableOf(
  request: SetMaxUnavailable,
  pools: readonly PoolCounts[],
): { readonly changed: Readonly<Record<string, MaxUnavailable>>; readonly inForce: readonly string[] } {
  const value = mustBeMaxUnavailable(request.maxUnavailable)
  const named = pools.filter(
    ({ pool, type }) => type === 'worker' && (request.pool === undefined || request.pool === pool),
  )
  if (named.length === 0) throw invalid(`there is no worker pool ${request.pool ?? ''} in this rollout`)
  const inForce = named.map(({ pool, machines }) => {
    const { count, clamped } = unavailableClamp(value, machines)
    return `pool ${pool}: ${clamped ?? `${count} of ${machines} workers`}`
  })
  return { changed: Object.fromEntries(named.map(({ pool }) => [pool, value])), inForce }
}

function invalid(message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, 'InvalidSpec')
}
