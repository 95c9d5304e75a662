import { keyOfId } from './arm-bodies.js'
import type { ArmSettings } from './arm-settings.js'
import { type ArmRefusal, isAllocated, sizeRefusal, skuOf } from './arm-size-rules.js'
import type { ArmChange, ArmDisk, ArmState, ArmVm } from './arm-state.js'

type Fields = Readonly<Record<string, unknown>>

export type ArmVerdict =
  | { readonly kind: 'refused'; readonly refusal: ArmRefusal }
  | { readonly kind: 'accepted'; readonly change: ArmChange; readonly effective: boolean }
  /** A change so small that there is no operation to ask for. */
  | { readonly kind: 'trivial'; readonly tags: Record<string, string> | null }

/** A second write on a VM in the middle of one. */
export function busyRefusal(state: ArmState, vm: ArmVm): ArmRefusal | null {
  if (vm.operation === null) return null
  const kind = state.operations[vm.operation]?.change.kind ?? 'unknown'
  const message =
    kind === 'updateVm'
      ? 'The request failed due to conflict with a concurrent request. To resolve it, please refer to https://aka.ms/activitylog to get more details on the conflicting requests.'
      : `An ongoing operation is changing power state of Virtual Machine ${vm.name} to ${kind}. Please retry later.`
  const code = kind === 'updateVm' ? 'Conflict' : 'OperationNotAllowed'
  return { status: 409, error: { code, message } }
}

export function judgePower(vm: ArmVm, kind: 'deallocate' | 'powerOff' | 'start' | 'restart'): ArmVerdict {
  if (vm.ephemeral && kind === 'deallocate') {
    return refused(
      409,
      'OperationNotAllowed',
      "Operation 'deallocate' is not supported for VMs or VM Scale Set instances using an ephemeral OS disk.",
    )
  }
  const nothingToDo =
    kind === 'deallocate'
      ? vm.power === 'deallocated'
      : kind === 'powerOff'
        ? vm.power === 'stopped' || vm.power === 'deallocated'
        : kind === 'start' && vm.power === 'running'
  return { kind: 'accepted', change: { kind }, effective: !nothingToDo }
}

/** PATCH and PUT of a VM that exists: only what differs counts. */
export function judgeUpdate(settings: ArmSettings, state: ArmState, vm: ArmVm, body: unknown): ArmVerdict {
  const { tags, zones } = fieldsOf(body)
  const properties = fieldsOf(fieldsOf(body).properties)
  const fixed = unchangeable(vm, properties, zones) ?? diskThroughVm(state, vm, properties)
  if (fixed !== null) return { kind: 'refused', refusal: fixed }

  const asked = fieldsOf(properties.hardwareProfile).vmSize
  const size = typeof asked === 'string' && asked.toLowerCase() !== vm.size.toLowerCase() ? asked : null
  if (size !== null) {
    const refusal = sizeRefusal(settings, state, vm, size)
    if (refusal !== null) return { kind: 'refused', refusal }
  }
  const group = 'proximityPlacementGroup' in properties ? idOf(properties.proximityPlacementGroup) : undefined
  const moves = group !== undefined && group?.toLowerCase() !== vm.placementGroup?.toLowerCase()
  if (moves) {
    const refusal = placementRefusal(state, vm, group)
    if (refusal !== null) return { kind: 'refused', refusal }
  }
  if (size === null && !moves) return { kind: 'trivial', tags: tags === undefined ? null : textsOf(tags) }
  const change = {
    kind: 'updateVm' as const,
    size: size === null ? null : (skuOf(settings, size)?.name ?? size),
    ...(moves ? { placementGroup: group } : {}),
  }
  return { kind: 'accepted', change, effective: true }
}

/** PATCH and PUT of a disk that exists. A shrink is accepted, and its operation fails. */
export function judgeDisk(state: ArmState, disk: ArmDisk, body: unknown): ArmVerdict {
  const asked = fieldsOf(fieldsOf(body).properties).diskSizeGB
  const sizeGiB = typeof asked === 'number' ? asked : disk.sizeGiB
  const vm = disk.vm === null ? undefined : state.vms[disk.vm]
  if (sizeGiB !== disk.sizeGiB && disk.os && vm !== undefined && isAllocated(vm)) {
    const message = `Cannot resize disk ${disk.name} while it is attached to running VM ${vm.name}. Resizing a disk of an Azure Virtual Machine requires the virtual machine to be deallocated. Please stop your VM and retry the operation.`
    const innererror = { internalErrorCode: 'ChangeDiskSizeWhileAttachedNotAllowed' }
    return {
      kind: 'refused',
      refusal: { status: 409, error: { code: 'OperationNotAllowed', message, innererror } },
    }
  }
  return { kind: 'accepted', change: { kind: 'updateDisk', sizeGiB }, effective: sizeGiB > disk.sizeGiB }
}

function unchangeable(vm: ArmVm, properties: Fields, zones: unknown): ArmRefusal | null {
  const set = 'availabilitySet' in properties ? idOf(properties.availabilitySet) : undefined
  if (set !== undefined && set?.toLowerCase() !== vm.availabilitySet?.toLowerCase())
    return fixedProperty('availabilitySet.id')
  if (properties.priority !== undefined && properties.priority !== vm.priority)
    return fixedProperty('priority')
  if (Array.isArray(zones) && zones[0] !== vm.zone) return fixedProperty('zones')
  const { computerName } = fieldsOf(properties.osProfile)
  return computerName !== undefined && computerName !== vm.computerName
    ? fixedProperty('osProfile.computerName')
    : null
}

function diskThroughVm(state: ArmState, vm: ArmVm, properties: Fields): ArmRefusal | null {
  const { diskSizeGB } = fieldsOf(fieldsOf(properties.storageProfile).osDisk)
  const disk = state.disks[vm.osDisk]
  if (typeof diskSizeGB !== 'number' || diskSizeGB === disk?.sizeGiB) return null
  const message = isAllocated(vm)
    ? 'Disk resizing is allowed only when creating a VM or when the VM is deallocated.'
    : `Managed disk resize via Virtual Machine ${vm.name} is not allowed. Please resize disk resource at ${disk?.name}.`
  const code = isAllocated(vm) ? 'Conflict' : 'ResizeDiskError'
  return { status: 409, error: { code, message, target: 'disk.diskSizeGB' } }
}

function placementRefusal(state: ArmState, vm: ArmVm, group: string | null): ArmRefusal | null {
  if (vm.power !== 'deallocated') {
    const message = `Updating proximity placement group of VM ${vm.name} is not allowed while the VM is running. Please stop/deallocate the VM and retry the operation.`
    return { status: 409, error: { code: 'OperationNotAllowed', message } }
  }
  if (group === null) return null
  const key = keyOfId(group, 'proximityPlacementGroups')
  if (key !== null && state.placementGroups[key] !== undefined) return null
  const message = `The entity proximityPlacementGroup '${group}' was not found.`
  return { status: 400, error: { code: 'InvalidParameter', message, target: 'proximityPlacementGroup' } }
}

function fixedProperty(target: string): ArmRefusal {
  const message = `Changing property '${target}' is not allowed.`
  return { status: 409, error: { code: 'PropertyChangeNotAllowed', message, target } }
}

function refused(status: number, code: string, message: string): ArmVerdict {
  return { kind: 'refused', refusal: { status, error: { code, message } } }
}

/** `{}` and null take something away; an id names it. */
function idOf(value: unknown): string | null {
  const { id } = fieldsOf(value)
  return typeof id === 'string' ? id : null
}

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

export function textsOf(value: unknown): Record<string, string> {
  return Object.fromEntries(Object.entries(fieldsOf(value)).map(([key, text]) => [key, String(text)]))
}
