import type { AvailabilitySet, PlacementGroup } from './groups.js'

/**
 * Why a size cannot be had inside an availability set. The VMs of a set that run pin it to hardware; a set of one VM is
 * free once that one is deallocated.
 */
export function setSizeRefusal(set: AvailabilitySet | null, size: string): string | null {
  if (set === null || (set.virtualMachines?.length ?? 0) < 2) return null
  if (set.sizes.includes(size.toLowerCase())) return null
  return `${size} does not run on the hardware of availability set ${set.name} while other VMs of the set do; choose one of the sizes the set lists, or deallocate all of its VMs first`
}

/** A proximity placement group that was made for certain sizes has no other ones. */
export function placementSizeRefusal(group: PlacementGroup | null, size: string): string | null {
  const sizes = group?.intent?.vmSizes ?? []
  if (group === null || sizes.length === 0) return null
  if (sizes.some((one) => one.toLowerCase() === size.toLowerCase())) return null
  return `proximity placement group ${group.name} is for ${sizes.join(', ')}, not for ${size}; choose one of those, or change what the group is for`
}
