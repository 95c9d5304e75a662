import type { PoolSelection } from './membership.js'
import {
  type Machine,
  type MachineType,
  type MaxUnavailable,
  type Member,
  NO_SETTINGS,
  type PoolSettings,
  type PoolSpec,
  type Selector,
} from './model.js'
import { comparableGroups } from './out-of-date.js'
import type { ClusterRecord, StoredPool } from './record.js'

/** A pool with the settings in force: what is asked for now over what is stored (CKS-01). */
export interface EffectivePool extends PoolSelection {
  readonly settings: PoolSettings
  /** What was in force before this request. */
  readonly previous: PoolSettings
  readonly asked: PoolSettings
  readonly maxUnavailable: MaxUnavailable
}

const ONE_AT_A_TIME: MaxUnavailable = { count: 1 }

/** The pools a request is about: those it names, in its order, then the stored ones it does not name (CKS-01). */
export function poolsInForce(asked: readonly PoolSpec[], record: ClusterRecord): PoolSelection[] {
  const named = new Set(asked.map((pool) => pool.name))
  const others = record.poolOrder.filter((name) => !named.has(name))
  return [
    ...asked.map(({ name, type, select }) => ({
      name,
      type,
      // Naming one property of a pool must not make it select other nodes than before.
      select: select ?? record.pools[name]?.select ?? usualSelector(type),
    })),
    ...others.flatMap((name) => {
      const stored = record.pools[name]
      return stored === undefined ? [] : [{ name, type: stored.type, select: stored.select }]
    }),
  ]
}

/**
 * Settings in force per pool. A pool that has none stored first records what its machines have today, so that asking
 * for one property leaves the others as they are (CKS-03).
 */
export function effectivePools(
  asked: readonly PoolSpec[],
  record: ClusterRecord,
  members: readonly Member[],
): EffectivePool[] {
  return poolsInForce(asked, record).map((pool) => {
    const spec = asked.find((one) => one.name === pool.name)
    const machines = members.filter((member) => member.pool === pool.name).map((member) => member.machine)
    const previous = record.pools[pool.name]?.settings ?? settingsOfToday(machines)
    const wanted = spec?.asked ?? NO_SETTINGS
    return {
      ...pool,
      previous,
      asked: wanted,
      settings: over(wanted, previous),
      maxUnavailable: spec?.maxUnavailable ?? ONE_AT_A_TIME,
    }
  })
}

/** CKS-03: a property is recorded only if all machines of the pool share it; what is not recorded is not compared. */
export function settingsOfToday(machines: readonly Machine[]): PoolSettings {
  const [first] = machines
  if (first === undefined) return NO_SETTINGS
  const groups = comparableGroups(first)
  const sameOffering = machines.every((machine) => machine.offering === first.offering)
  const sameDisk = machines.every((machine) => machine.rootDiskGiB === first.rootDiskGiB)
  const sameGroups = machines.every((machine) => comparableGroups(machine).join('\n') === groups.join('\n'))
  return {
    offerings: sameOffering ? [first.offering] : null,
    rootDiskGiB: sameDisk ? first.rootDiskGiB : null,
    affinityGroups: sameGroups ? groups : null,
  }
}

/** What the ConfigMap holds once these pools are stored. */
export function poolsToStore(pools: readonly EffectivePool[]): {
  pools: Record<string, StoredPool>
  poolOrder: string[]
} {
  return {
    pools: Object.fromEntries(
      pools.map((pool) => [pool.name, { type: pool.type, select: pool.select, settings: pool.settings }]),
    ),
    poolOrder: pools.map((pool) => pool.name),
  }
}

function over(asked: PoolSettings, stored: PoolSettings): PoolSettings {
  return {
    offerings: asked.offerings ?? stored.offerings,
    rootDiskGiB: asked.rootDiskGiB ?? stored.rootDiskGiB,
    affinityGroups: asked.affinityGroups ?? stored.affinityGroups,
  }
}

/** How nodes of a type are found where nobody says (CKS-00). */
function usualSelector(type: MachineType): Selector {
  return type === 'control' ? { kind: 'controlPlaneRole' } : { kind: 'rest' }
}
