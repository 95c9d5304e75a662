import type { Member, NodeRecord, Problem } from './model.js'
import { nameOf } from './model.js'
import { differences } from './out-of-date.js'
import { cannotLoseANode } from './quorum.js'
import type { EffectivePool } from './settings.js'

export interface SettingsFacts {
  readonly pools: readonly EffectivePool[]
  readonly members: readonly Member[]
  readonly outsiders: readonly NodeRecord[]
  /**
   * What the provider refuses, by machine id (unknown size, no quota, …), asked of each out-of-date machine; without
   * the disk size where nothing is rolled out.
   */
  readonly refusals: Readonly<Record<string, readonly string[]>>
}

export interface SettingsVerdict {
  /** Settings asked for that cannot be: the request is refused, all of them named. */
  readonly problems: readonly Problem[]
  /** Pools whose *stored* settings cannot be applied: skipped with the reason (CKS-04). */
  readonly skippedPools: Readonly<Record<string, string>>
}

/**
 * CKS-04, CKS-05, CKS-14: may these settings be stored, and may they be rolled out? With `rollout` false a disk size
 * that cannot be applied is accepted: new machines may be made with it.
 */
export function checkSettings(facts: SettingsFacts, rollout: boolean): SettingsVerdict {
  const problems: Problem[] = []
  const skippedPools: Record<string, string> = {}
  for (const pool of facts.pools) {
    const members = facts.members.filter((member) => member.pool === pool.name)
    problems.push(...dedications(pool, facts.members))
    if (!rollout) {
      problems.push(...refusalsAsked(pool, members, facts))
      continue
    }
    const disk = diskProblem(pool, members)
    if (disk !== null && pool.asked.rootDiskGiB !== null) problems.push(disk)
    else if (disk !== null) skippedPools[pool.name] = `pool ${pool.name}: stored ${disk.what}`
    problems.push(...refusalsAsked(pool, members, facts))
    const stored = refusalsOf(members, facts)
    if (!asksAnything(pool) && stored.length > 0)
      skippedPools[pool.name] ??= `pool ${pool.name}: ${stored[0]}`
    problems.push(...losesTheOnlyOne(pool, members, facts))
  }
  return { problems, skippedPools }
}

function dedications(pool: EffectivePool, all: readonly Member[]): Problem[] {
  const dedicated = new Set(
    all.flatMap((member) =>
      member.machine.affinityGroups.filter((group) => group.explicitDedication).map((group) => group.name),
    ),
  )
  return (pool.asked.affinityGroups ?? [])
    .filter((name) => dedicated.has(name))
    .map((name) => ({
      where: `pools.${pool.name}.affinityGroups`,
      what: `${name} is an explicit dedication`,
      fix: 'leave it out: machines keep their dedication',
    }))
}

function diskProblem(pool: EffectivePool, members: readonly Member[]): Problem | null {
  const wants = pool.settings.rootDiskGiB
  if (wants === null) return null
  const shrinks = members.filter(({ machine }) => machine.rootDiskGiB !== null && machine.rootDiskGiB > wants)
  const fixed = members.filter(
    ({ machine }) =>
      machine.rootDiskFixed !== null &&
      machine.rootDiskGiB !== wants &&
      !shrinks.some((one) => one.machine === machine),
  )
  const [shrunk] = shrinks
  const [stuck] = fixed
  const where = `pools.${pool.name}.rootDiskGiB`
  if (shrunk !== undefined) {
    return {
      where,
      what: `root disk size ${wants} GiB would shrink the ${shrunk.machine.rootDiskGiB} GiB disk of ${namesOf(shrinks)}`,
      fix: `ask for at least ${Math.max(...shrinks.map(({ machine }) => machine.rootDiskGiB ?? 0))} GiB`,
    }
  }
  if (stuck !== undefined) {
    return {
      where,
      what: `root disk size ${wants} GiB cannot be had by ${namesOf(fixed)}: ${stuck.machine.rootDiskFixed}`,
      fix: 'leave rootDiskGiB out, or use rollout: false and new machines',
    }
  }
  return null
}

function refusalsAsked(pool: EffectivePool, members: readonly Member[], facts: SettingsFacts): Problem[] {
  if (!asksAnything(pool)) return []
  return refusalsOf(members, facts).map((what) => ({
    where: `pools.${pool.name}`,
    what,
    fix: 'choose settings the provider accepts',
  }))
}

function refusalsOf(members: readonly Member[], facts: SettingsFacts): string[] {
  const byReason = new Map<string, string[]>()
  for (const member of members) {
    for (const reason of facts.refusals[member.machine.id] ?? []) {
      byReason.set(reason, [...(byReason.get(reason) ?? []), nameOf(member)])
    }
  }
  return [...byReason].map(
    ([reason, names]) => `${reason} (${names.slice(0, 5).join(', ')}${names.length > 5 ? ', …' : ''})`,
  )
}

/** CKS-14: the asked settings would put a running node out of date that was not, in a type that cannot lose one. */
function losesTheOnlyOne(pool: EffectivePool, members: readonly Member[], facts: SettingsFacts): Problem[] {
  const why = cannotLoseANode(pool.type, facts.members, facts.outsiders)
  if (why === null || !asksAnything(pool)) return []
  return members
    .filter(
      ({ machine }) =>
        machine.power !== 'stopped' &&
        differences(machine, pool.settings).length > 0 &&
        differences(machine, pool.previous).length === 0,
    )
    .map((member) => ({
      where: `pools.${pool.name}`,
      what: `would put ${nameOf(member)} out of date, and ${pool.type} cannot lose a node: it is ${why}`,
      fix: `leave the settings of ${pool.name} as they are, or add ${pool.type} nodes first`,
    }))
}

/** Does the request name a property of this pool, or is it only in force? */
export function asksAnything(pool: Pick<EffectivePool, 'asked'>): boolean {
  return (
    pool.asked.offerings !== null || pool.asked.rootDiskGiB !== null || pool.asked.affinityGroups !== null
  )
}

function namesOf(members: readonly Member[]): string {
  const names = members.slice(0, 5).map(nameOf)
  return `${names.join(', ')}${members.length > names.length ? ` and ${members.length - names.length} more` : ''}`
}

/**
 * Nodes to be rolled whose boot id is empty, masked or shared: nothing could prove that they came back. One sentence
 * each; a stopped machine needs none, since any boot id will be a new one.
 */
export function cannotProve(members: readonly Member[], pools: readonly EffectivePool[]): string[] {
  return members
    .filter(({ machine, node, pool }) => {
      const settings = pools.find((one) => one.name === pool)?.settings
      return (
        node !== null &&
        node.bootId === null &&
        machine.power === 'running' &&
        settings !== undefined &&
        differences(machine, settings).length > 0
      )
    })
    .map(
      (member) =>
        `node ${nameOf(member)}: its boot id is empty, masked or shared with another node, so a restart could not be verified`,
    )
}
