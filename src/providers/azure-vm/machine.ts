import type { AffinityGroup, Machine, PowerState } from '../../core/model.js'
import { groupName, partsOf } from './ids.js'
import type { AzureDisk, AzureVm } from './schema.js'
import type { Size } from './sizes.js'

/** A VM that is stopped without being deallocated keeps its hardware, and with it all that cannot be changed on it. */
export type AzurePower = PowerState | 'stoppedAllocated'

const POWERS: Readonly<Record<string, AzurePower>> = {
  creating: 'starting',
  starting: 'starting',
  running: 'running',
  stopping: 'stopping',
  stopped: 'stoppedAllocated',
  deallocating: 'stopping',
  deallocated: 'stopped',
}

/** `Failed` describes the last write, not the VM: it may well run. */
const ENDED = new Set(['succeeded', 'failed', 'canceled'])

/** The power state of the instance view; without one it is unknown. */
export function powerOf(vm: AzureVm): AzurePower {
  const code = vm.instanceView?.statuses?.find((one) => one.code?.startsWith('PowerState/'))?.code
  return POWERS[code?.slice('PowerState/'.length).toLowerCase() ?? ''] ?? 'unknown'
}

/** What the VM is to noderoll. The size of its disk is the disk's to say: the model of a VM that is off lacks it. */
export function toMachine(
  vm: AzureVm,
  disk: AzureDisk | null,
  size: Size | undefined,
  resourceGroup: string,
): Machine {
  const power = powerOf(vm)
  return {
    id: vm.name,
    name: vm.name,
    providerId: `azure://${vm.id}`,
    power: power === 'stoppedAllocated' ? 'stopped' : power,
    operation: operationOf(vm, disk),
    offering: size?.name ?? vm.hardwareProfile.vmSize,
    rootDiskGiB: disk?.diskSizeGB ?? vm.storageProfile.osDisk.diskSizeGB ?? null,
    rootDiskFixed: whyDiskFixed(vm),
    affinityGroups: affinityGroups(vm, resourceGroup),
    // A list that leaves one of them out does not say that there is none.
    cpu: size?.cpu || null,
    memoryMiB: size?.memoryMiB || null,
  }
}

export function isEphemeral(vm: AzureVm): boolean {
  return vm.storageProfile.osDisk.diffDiskSettings?.option === 'Local'
}

function operationOf(vm: AzureVm, disk: AzureDisk | null): string | null {
  const state = (vm.provisioningState ?? '').toLowerCase()
  if (state !== '' && !ENDED.has(state)) return state
  const power = powerOf(vm)
  if (power === 'starting' || power === 'stopping') return power
  const diskState = (disk?.provisioningState ?? '').toLowerCase()
  return diskState !== '' && !ENDED.has(diskState) ? `disk ${diskState}` : null
}

function whyDiskFixed(vm: AzureVm): string | null {
  if (isEphemeral(vm)) return 'it is an ephemeral OS disk'
  return vm.storageProfile.osDisk.managedDisk?.id ? null : 'it is no managed disk'
}

function affinityGroups(vm: AzureVm, resourceGroup: string): AffinityGroup[] {
  const placement = vm.proximityPlacementGroup?.id
  const dedicated = vm.hostGroup?.id ?? vm.host?.id
  return [
    ...(placement ? [{ name: groupName(placement, resourceGroup), explicitDedication: false }] : []),
    ...(dedicated ? [{ name: partsOf(dedicated).name, explicitDedication: true }] : []),
  ]
}
