import type { MaxUnavailable, Member } from './model.js'

/** No batch is larger, whatever the pool (CKS-09). */
export const LARGEST_BATCH = 50

export interface Clamp {
  readonly count: number
  /** In words, when the number asked for is not the number in force. */
  readonly clamped: string | null
}

/**
 * CKS-09: how many workers of a pool may be unavailable at once. A percentage is of the pool's machines, rounded down;
 * the result is clamped to workers − 1, never below 1. (A batch holds at most 50 of them.)
 */
export function unavailableClamp(maxUnavailable: MaxUnavailable, workers: number): Clamp {
  const asked =
    'count' in maxUnavailable ? maxUnavailable.count : Math.floor((workers * maxUnavailable.percent) / 100)
  const count = Math.max(1, Math.min(asked, workers - 1))
  const said = 'count' in maxUnavailable ? `${asked}` : `${maxUnavailable.percent}% (${asked})`
  return {
    count,
    clamped: count === asked ? null : `maxUnavailable ${said} becomes ${count} of ${workers} workers`,
  }
}

/** CKS-09: stopped, not ready, or cordoned by anyone. */
export function isUnavailable(member: Member): boolean {
  return (
    member.machine.power !== 'running' ||
    member.node === null ||
    member.node.ready !== 'ready' ||
    member.node.unschedulable
  )
}

/**
 * The first candidates that may go down together: with them and with what is unavailable already, at most `clamp`
 * members of the pool are down; one may always go (CKS-09).
 */
export function takeWithinBudget(
  candidates: readonly Member[],
  pool: readonly Member[],
  clamp: number,
): Member[] {
  const down = new Set(pool.filter(isUnavailable).map((member) => member.machine.id))
  const taken: Member[] = []
  for (const candidate of candidates) {
    if (taken.length === LARGEST_BATCH) break
    const after = new Set([...down, candidate.machine.id])
    if (after.size > clamp && taken.length > 0) break
    taken.push(candidate)
    down.add(candidate.machine.id)
    if (after.size > clamp) break
  }
  return taken
}
