import type { Groups } from './groups.js'
import { partsOf } from './ids.js'
import type { AzureVm } from './schema.js'

/** Why a VM cannot be put into these groups, one sentence each; `names` is never empty. */
export async function groupRefusals(
  vm: AzureVm,
  names: readonly string[],
  groups: Groups,
  signal: AbortSignal,
): Promise<string[]> {
  const reasons = await Promise.all(names.map((name) => groupRefusal(vm, name, groups, signal)))
  const found = reasons.filter((reason) => reason !== null)
  if (found.length > 0 || names.length === 1) return found
  return [
    `a VM is in one proximity placement group at most, and ${names.length} are asked for (${names.join(', ')}); name one`,
  ]
}

async function groupRefusal(
  vm: AzureVm,
  name: string,
  groups: Groups,
  signal: AbortSignal,
): Promise<string | null> {
  if (name !== name.toLowerCase())
    return `affinity group ${name} has to be written in lower case (${name.toLowerCase()}): Azure tells names apart by letters only`
  const { type } = partsOf(name)
  if (name.startsWith('/') && type !== 'proximityplacementgroups') {
    return type === 'availabilitysets' ? notMovable(name) : `${name} is no proximity placement group`
  }
  if ((await groups.placementGroup(name, signal)) === null) {
    if (!name.startsWith('/') && (await groups.availabilitySet(name, signal)) !== null)
      return notMovable(name)
    return !name.startsWith('/') && (await groups.hostGroup(name, signal))
      ? `affinity group ${name} is a group of dedicated hosts, an explicit dedication: it cannot be set`
      : `there is no proximity placement group ${name}; create it, or correct the name`
  }
  return setRefusal(vm, name, groups, signal)
}

/** A VM and the availability set it is in have the same placement group, or neither has one. */
async function setRefusal(
  vm: AzureVm,
  name: string,
  groups: Groups,
  signal: AbortSignal,
): Promise<string | null> {
  const id = vm.availabilitySet?.id
  if (!id) return null
  const set = await groups.availabilitySet(id, signal)
  const has = set?.proximityPlacementGroup?.id
  if (
    set === null ||
    (has && partsOf(has).name === partsOf(name).name) ||
    (has && partsOf(has).name === name)
  )
    return null
  return `the VM is in availability set ${set.name}, which ${has ? `is in ${partsOf(has).name}` : 'is in no proximity placement group'}; put the set into ${name} first`
}

function notMovable(name: string): string {
  return `${name} is an availability set, and a VM stays in the one it was made in; replace the VM, or use a proximity placement group`
}
