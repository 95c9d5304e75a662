import { isEphemeral } from './machine.js'
import type { AzureVm } from './schema.js'
import type { Size } from './sizes.js'

/** What is known about a VM that is to get another size. */
export interface Resize {
  readonly vm: AzureVm
  /** Undefined where Azure no longer lists the size it has: what cannot be compared is not refused. */
  readonly has: Size | undefined
  readonly wants: Size
  /** Storage types of its OS and data disks. */
  readonly diskTypes: readonly string[]
  readonly allowTempDiskChange: boolean
}

/** Why a VM cannot get a size that exists, one sentence each with what to do. */
export function sizeRefusals(resize: Resize): string[] {
  const { vm, has, wants } = resize
  return [
    whereRefusal(vm, wants),
    isEphemeral(vm)
      ? 'a VM with an ephemeral OS disk cannot be deallocated, so its size cannot be changed; replace the VM'
      : null,
    has !== undefined && has.architecture !== wants.architecture
      ? `${wants.name} is ${wants.architecture} and the VM's image is ${has.architecture}; choose a size of the same architecture`
      : null,
    generationRefusal(vm, wants),
    controllerRefusal(vm, wants),
    tempDiskRefusal(resize),
    ...deviceRefusals(resize),
  ].filter((one) => one !== null)
}

function whereRefusal(vm: AzureVm, wants: Size): string | null {
  const zone = vm.zones?.[0]
  if (wants.restricted !== null) {
    return `${wants.name} cannot be had in ${vm.location} (${wants.restricted}); choose another size, or ask Azure support for access`
  }
  if (zone === undefined) return null
  if (wants.restrictedZones.includes(zone) || !wants.zones.includes(zone)) {
    return `${wants.name} cannot be had in zone ${zone} of ${vm.location}; choose another size for this pool: a VM stays in its zone`
  }
  return null
}

function generationRefusal(vm: AzureVm, wants: Size): string | null {
  const generation = vm.instanceView?.hyperVGeneration
  if (!generation || wants.generations.includes(generation)) return null
  return `${wants.name} cannot boot a generation ${generation.replace('V', '')} VM; choose a size that can, or replace the VM by one of the other generation`
}

function controllerRefusal(vm: AzureVm, wants: Size): string | null {
  const controller = vm.storageProfile.diskControllerType ?? 'SCSI'
  if (wants.diskControllers.includes(controller)) return null
  return `${wants.name} has ${wants.diskControllers.join(' and ')} disk controllers only and the VM uses ${controller}; choose a size with ${controller}, or convert the VM first`
}

function tempDiskRefusal({ has, wants, allowTempDiskChange }: Resize): string | null {
  if (has === undefined || allowTempDiskChange || has.tempDisk === wants.tempDisk) return null
  const [one, other] = wants.tempDisk ? ['has', 'lacks'] : ['lacks', 'has']
  return `${wants.name} ${one} a local temp disk and ${has.name} ${other} one, which Azure does not change in place; choose a size that is alike, or set allowTempDiskChange where your subscription may`
}

function deviceRefusals({ vm, wants, diskTypes }: Resize): (string | null)[] {
  const disks = vm.storageProfile.dataDisks?.length ?? 0
  const interfaces = vm.networkProfile?.networkInterfaces?.length ?? 0
  const premium = diskTypes.find((type) => type.startsWith('Premium'))
  return [
    premium !== undefined && !wants.premiumDisks
      ? `${wants.name} takes no ${premium} disks and the VM has one; choose a size with premium storage (an s in its name)`
      : null,
    disks > wants.mostDataDisks
      ? `${wants.name} takes ${wants.mostDataDisks} data disks and the VM has ${disks}; choose a larger size, or detach disks`
      : null,
    interfaces > wants.mostNetworkInterfaces
      ? `${wants.name} takes ${wants.mostNetworkInterfaces} network interfaces and the VM has ${interfaces}; choose a larger size, or remove interfaces`
      : null,
  ]
}
