import type { Machine } from '../../core/model.js'
import type { MachineWants } from '../../ports/machines.js'
import { groupRefusals } from './group-refusals.js'
import type { Groups } from './groups.js'
import { isEphemeral } from './machine.js'
import type { AzureVm } from './schema.js'
import { placementSizeRefusal, setSizeRefusal } from './set-refusals.js'
import { sizeRefusals } from './size-refusals.js'
import type { Size } from './sizes.js'

/** What is asked of one VM, and what it takes to answer. */
export interface Question {
  readonly machine: Machine
  readonly vm: AzureVm
  readonly wants: MachineWants
  readonly sizes: ReadonlyMap<string, Size>
  readonly diskTypes: readonly string[]
  readonly groups: Groups
  readonly allowTempDiskChange: boolean
}

/** Why a VM cannot get these settings, one sentence each, before anything is touched. */
export async function refusalsOf(question: Question, signal: AbortSignal): Promise<string[]> {
  const { machine, vm, wants } = question
  const groups = wants.affinityGroups?.filter(
    (name) => !machine.affinityGroups.some((has) => has.name === name && !has.explicitDedication),
  )
  return [
    ...(await offeringRefusals(question, signal)),
    ...diskRefusals(machine, wants.rootDiskGiB),
    ...(groups === undefined || groups.length === 0
      ? []
      : await groupRefusals(vm, wants.affinityGroups ?? [], question.groups, signal)),
    ...(groups !== undefined && groups.length > 0 && isEphemeral(vm)
      ? ['a VM with an ephemeral OS disk cannot be deallocated, so it cannot be moved; replace the VM']
      : []),
  ]
}

async function offeringRefusals(question: Question, signal: AbortSignal): Promise<string[]> {
  const { machine, vm, wants, sizes, groups, diskTypes, allowTempDiskChange } = question
  const { offering } = wants
  if (offering === null || offering === machine.offering) return []
  const size = sizes.get(offering.toLowerCase())
  if (size === undefined) return [`there is no size ${offering} in ${vm.location}; correct the name`]
  if (size.name !== offering)
    return [`there is no size ${offering} in ${vm.location}; write it as ${size.name}`]
  const set = vm.availabilitySet?.id
  const inSet = set ? setSizeRefusal(await groups.availabilitySet(set, signal), size.name) : null
  const placement = wants.affinityGroups?.[0] ?? vm.proximityPlacementGroup?.id
  const inGroup = placement
    ? placementSizeRefusal(await groups.placementGroup(placement, signal), size.name)
    : null
  const has = sizes.get(machine.offering.toLowerCase())
  return [
    ...sizeRefusals({ vm, has, wants: size, diskTypes, allowTempDiskChange }),
    ...[inSet, inGroup].filter((one) => one !== null),
  ]
}

function diskRefusals({ name, rootDiskGiB: has, rootDiskFixed }: Machine, wants: number | null): string[] {
  if (wants === null || has === null || wants === has) return []
  if (rootDiskFixed !== null) return [`the root disk of ${name} cannot change size: ${rootDiskFixed}`]
  if (wants > LARGEST_OS_DISK_GIB)
    return [`an OS disk has ${LARGEST_OS_DISK_GIB} GiB at most, and ${wants} are asked for`]
  return wants < has ? [`the root disk of ${name} has ${has} GiB and cannot shrink to ${wants} GiB`] : []
}

const LARGEST_OS_DISK_GIB = 4095
