import type { ArmSettings } from './arm-settings.js'
import { type ArmSku, capability, coresOf } from './arm-skus.js'
import type { ArmError, ArmState, ArmVm } from './arm-state.js'

export interface ArmRefusal {
  readonly status: number
  readonly error: ArmError
}

/** The sizes of the region, those that are restricted in it among them. */
export function vmSkus({ skus, location }: ArmSettings): ArmSku[] {
  return skus.filter(
    (sku) =>
      sku.resourceType === 'virtualMachines' && sku.locations.some((one) => one.toLowerCase() === location),
  )
}

export function skuOf(settings: ArmSettings, size: string): ArmSku | undefined {
  return vmSkus(settings).find((sku) => sku.name.toLowerCase() === size.toLowerCase())
}

/** Is the VM on hardware right now? Then only what that hardware runs can be had. */
export function isAllocated(vm: ArmVm): boolean {
  return vm.power !== 'deallocated'
}

/** Why ARM refuses this size for this VM, or null. */
export function sizeRefusal(
  settings: ArmSettings,
  state: ArmState,
  vm: ArmVm,
  size: string,
): ArmRefusal | null {
  const sku = skuOf(settings, size)
  const has = skuOf(settings, vm.size)
  if (sku === undefined) {
    const sizes = vmSkus(settings)
      .map(({ name }) => name)
      .join(', ')
    const message = `The value ${size} provided for the VM size is not valid. The valid sizes in the current region are: ${sizes}. Find out more on the available VM sizes in each region at https://aka.ms/azure-regions.`
    return { status: 400, error: { code: 'InvalidParameter', message, target: 'vmSize' } }
  }
  if (isRestricted(sku, settings.location, vm.zone)) {
    const message = `The requested VM size for resource 'Following SKUs have failed for Capacity Restrictions: ${size}' is currently not available in location '${settings.location}'. Please try another size or deploy to a different location or different zone. See https://aka.ms/azureskunotavailable for details.`
    return { status: 409, error: { code: 'SkuNotAvailable', message } }
  }
  if (settings.clusterSizes !== null && isAllocated(vm) && !settings.clusterSizes.includes(sku.name)) {
    return notAllowed(
      `Unable to resize the VM '${vm.name}' because the requested size ${size} is not available in the current hardware cluster. The available sizes in this cluster are: ${settings.clusterSizes.join(', ')}. Read more on VM resizing strategy at https://aka.ms/azure-resizevm.`,
    )
  }
  if (hasTempDisk(sku) !== hasTempDisk(has)) {
    return notAllowed(
      `Unable to resize the VM '${vm.name}' since changing from resource disk to non-resource disk VM size and vice-versa is not allowed. Please refer to https://aka.ms/AAah4sj for more details.`,
    )
  }
  return unfit(state, vm, sku, has) ?? quotaRefusal(settings, state, vm, sku)
}

function unfit(state: ArmState, vm: ArmVm, sku: ArmSku, has: ArmSku | undefined): ArmRefusal | null {
  const generations = capability(sku, 'HyperVGenerations')?.split(',') ?? []
  if (!generations.includes(vm.generation)) {
    const message = `The selected VM size '${sku.name}' cannot boot Hypervisor Generation '${vm.generation.slice(1)}'. If this was a Create operation please check that the Hypervisor Generation of the Image matches the Hypervisor Generation of the selected VM Size.`
    return { status: 400, error: { code: 'BadRequest', message } }
  }
  const controllers = capability(sku, 'DiskControllerTypes')?.split(',') ?? ['SCSI']
  if (!controllers.some((one) => one.trim() === vm.diskController)) {
    const message = `The VM size '${sku.name}' is not supported for the disk controller type '${vm.diskController}'.`
    return { status: 400, error: { code: 'InvalidParameter', message } }
  }
  const architecture = (one: ArmSku | undefined) => capability(one, 'CpuArchitectureType') ?? 'x64'
  if (architecture(sku) !== architecture(has)) {
    const message = `Cannot create a VM of size '${sku.name}' because this VM size only supports a CPU Architecture of '${architecture(sku)}', but an image or disk with CPU Architecture '${architecture(has)}' was given.`
    return { status: 400, error: { code: 'BadRequest', message } }
  }
  const premium = [vm.osDisk, ...vm.dataDisks]
    .map((key) => state.disks[key])
    .find((d) => d?.sku.startsWith('Premium'))
  if (premium !== undefined && capability(sku, 'PremiumIO') !== 'True') {
    const message = `Requested operation cannot be performed because the VM size ${sku.name} does not support the storage account type ${premium.sku} of disk '${premium.name}'. Consider updating the VM to a size that supports Premium storage.`
    return { status: 400, error: { code: 'InvalidParameter', message } }
  }
  const most = Number(capability(sku, 'MaxDataDiskCount') ?? 0)
  if (vm.dataDisks.length > most) {
    return notAllowed(
      `The maximum number of data disks allowed to be attached to a VM of this size is ${most}.`,
    )
  }
  const nics = Number(capability(sku, 'MaxNetworkInterfaces') ?? 1)
  if (vm.networkInterfaces.length > nics) {
    return notAllowed(
      `The number of network interfaces for virtual machine ${vm.name} exceeds the maximum allowed for the virtual machine size ${sku.name}. The number of network interfaces is ${vm.networkInterfaces.length} and the maximum allowed is ${nics}.`,
    )
  }
  return null
}

/** Cores in use by family, and the regional totals: allocated or not, a VM counts. */
export function coresInUse(settings: ArmSettings, state: ArmState): Map<string, number> {
  const used = new Map<string, number>()
  const add = (name: string, cores: number) => used.set(name, (used.get(name) ?? 0) + cores)
  for (const vm of Object.values(state.vms)) {
    const sku = skuOf(settings, vm.size)
    const cores = coresOf(sku)
    if (vm.priority === 'Spot') add('lowprioritycores', cores)
    else {
      add('cores', cores)
      add((sku?.family ?? 'unknown').toLowerCase(), cores)
    }
  }
  return used
}

export function limitOf(settings: ArmSettings, name: string): number {
  const found = Object.entries(settings.limits).find(([key]) => key.toLowerCase() === name.toLowerCase())
  return found?.[1] ?? 10_000
}

function quotaRefusal(settings: ArmSettings, state: ArmState, vm: ArmVm, sku: ArmSku): ArmRefusal | null {
  const has = skuOf(settings, vm.size)
  const used = coresInUse(settings, state)
  const regional = coresOf(sku) - coresOf(has)
  const sameFamily = has?.family?.toLowerCase() === sku.family?.toLowerCase()
  const needs: [quota: string, name: string, more: number][] =
    vm.priority === 'Spot'
      ? [['LowPriorityCores', 'lowPriorityCores', regional]]
      : [
          ['Total Regional Cores', 'cores', regional],
          [`${sku.family} Cores`, sku.family ?? '', sameFamily ? regional : coresOf(sku)],
        ]
  for (const [quota, name, more] of needs) {
    const now = used.get(name.toLowerCase()) ?? 0
    const limit = limitOf(settings, name)
    if (more > 0 && now + more > limit) {
      return notAllowed(
        `Operation could not be completed as it results in exceeding approved ${quota} quota. Additional details - Deployment Model: Resource Manager, Location: ${settings.location}, Current Limit: ${limit}, Current Usage: ${now}, Additional Required: ${more}, (Minimum) New Limit Required: ${now + more}. Submit a request for Quota increase at https://aka.ms/ProdportalCRP.`,
      )
    }
  }
  return null
}

function isRestricted(sku: ArmSku, location: string, zone: string | null): boolean {
  return (sku.restrictions ?? []).some(({ type, restrictionInfo }) => {
    if (!restrictionInfo?.locations?.some((one) => one.toLowerCase() === location)) return false
    return type === 'Location' || (zone !== null && (restrictionInfo.zones ?? []).includes(zone))
  })
}

function hasTempDisk(sku: ArmSku | undefined): boolean {
  return Number(capability(sku, 'MaxResourceVolumeMB') ?? 0) > 0
}

function notAllowed(message: string): ArmRefusal {
  return { status: 409, error: { code: 'OperationNotAllowed', message } }
}
