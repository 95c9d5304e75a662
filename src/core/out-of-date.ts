import type { Machine, Member, PoolSettings } from './model.js'

/** One way in which a machine differs from its pool's settings (CKS-10). */
export type Difference =
  | { readonly kind: 'offering'; readonly has: string; readonly wants: readonly string[] }
  | { readonly kind: 'rootDisk'; readonly hasGiB: number; readonly wantsGiB: number }
  | { readonly kind: 'affinityGroups'; readonly has: readonly string[]; readonly wants: readonly string[] }

/**
 * CKS-10: offering differs (any of a list is up to date), root disk smaller than the setting, or affinity groups differ
 * from the recorded ones. What is not recorded is not compared; dedications never are (CKS-05).
 */
export function differences(machine: Machine, settings: PoolSettings): Difference[] {
  const found: Difference[] = []
  const { offerings, rootDiskGiB } = settings
  if (offerings !== null && offerings.length > 0 && !offerings.includes(machine.offering)) {
    found.push({ kind: 'offering', has: machine.offering, wants: offerings })
  }
  if (rootDiskGiB !== null && machine.rootDiskGiB !== null && machine.rootDiskGiB < rootDiskGiB) {
    found.push({ kind: 'rootDisk', hasGiB: machine.rootDiskGiB, wantsGiB: rootDiskGiB })
  }
  const wantsGroups = recordedGroups(settings)
  const hasGroups = comparableGroups(machine)
  if (wantsGroups !== null && !sameSet(hasGroups, wantsGroups)) {
    found.push({ kind: 'affinityGroups', has: hasGroups, wants: wantsGroups })
  }
  return found
}

/** A pool with no recorded groups leaves its machines' groups alone (CKS-05). */
export function recordedGroups(settings: PoolSettings): readonly string[] | null {
  return settings.affinityGroups === null || settings.affinityGroups.length === 0
    ? null
    : settings.affinityGroups
}

/** The groups of a machine that can be compared and changed, sorted. */
export function comparableGroups(machine: Machine): string[] {
  return machine.affinityGroups
    .filter((group) => !group.explicitDedication)
    .map((group) => group.name)
    .sort()
}

export function isOutOfDate(member: Member, settings: PoolSettings): boolean {
  return differences(member.machine, settings).length > 0
}

/** One difference in words: `offering small → large`. */
export function sayDifference(difference: Difference): string {
  switch (difference.kind) {
    case 'offering':
      return `offering ${difference.has} → ${difference.wants.join(' or ')}`
    case 'rootDisk':
      return `root disk ${difference.hasGiB} → ${difference.wantsGiB} GiB`
    case 'affinityGroups':
      return `affinity groups ${list(difference.has)} → ${list(difference.wants)}`
    default:
      return difference satisfies never
  }
}

function list(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.join(', ')
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === new Set(b).size && a.every((name) => b.includes(name))
}
