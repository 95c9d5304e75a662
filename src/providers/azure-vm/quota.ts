import type { MachineChange } from '../../ports/machines.js'
import type { Quotas } from './region.js'
import type { Size } from './sizes.js'

/** A change with what Azure counts for it. */
export interface CountedChange {
  readonly change: MachineChange
  readonly has: Size | undefined
  readonly wants: Size
  readonly spot: boolean
}

/**
 * What is missing in the quota for all these changes together, by machine id: a VM that is deallocated still counts, so
 * only the difference is needed: in the new family all of it, in the region what the new sizes have more.
 */
export function quotaRefusals(
  changes: readonly CountedChange[],
  quotas: Quotas,
  location: string,
): Record<string, string[]> {
  const more = new Map<string, number>()
  const add = (name: string, cores: number) => more.set(name, (more.get(name) ?? 0) + cores)
  for (const one of changes) {
    for (const [name, cores] of countsOf(one)) add(name, cores)
  }
  const missing = new Map<string, string>()
  for (const [name, cores] of more) {
    const quota = quotas.get(name)
    if (quota === undefined || cores <= 0 || quota.used + cores <= quota.limit) continue
    missing.set(
      name,
      `quota ${name} in ${location}: ${quota.used} of ${quota.limit} cores are in use and ${cores} more are needed; ask Azure for at least ${quota.used + cores}, or choose a smaller size`,
    )
  }
  const refusals: Record<string, string[]> = {}
  for (const one of changes) {
    const reasons = [...countsOf(one)].flatMap(([name, cores]) =>
      cores > 0 ? (missing.get(name) ?? []) : [],
    )
    if (reasons.length > 0) refusals[one.change.machine.id] = reasons
  }
  return refusals
}

/** What one change adds to which quota, or takes from it. Within a family only the difference counts. */
function countsOf({ has, wants, spot }: CountedChange): ReadonlyMap<string, number> {
  const before = has?.cores ?? 0
  const difference = wants.cores - before
  if (spot) return new Map([['lowprioritycores', difference]])
  const family = wants.family.toLowerCase()
  if (has === undefined || has.family.toLowerCase() === family) {
    return new Map([
      ['cores', difference],
      [family, difference],
    ])
  }
  return new Map([
    ['cores', difference],
    [family, wants.cores],
    [has.family.toLowerCase(), -before],
  ])
}
