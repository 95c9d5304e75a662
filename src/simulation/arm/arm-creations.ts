import { randomUUID } from 'node:crypto'
import type { ArmCall } from './arm-calls.js'
import { fieldsOf, textsOf } from './arm-rules.js'
import type { ArmSettings } from './arm-settings.js'
import { skuOf } from './arm-size-rules.js'
import { capability } from './arm-skus.js'
import { type ArmDisk, type ArmVm, keyOf } from './arm-state.js'

/** A VM as a PUT describes it, with the OS disk that comes with it. As little as the routes need. */
export function createVm(settings: ArmSettings, call: ArmCall, body: unknown): { vm: ArmVm; disk: ArmDisk } {
  const properties = fieldsOf(fieldsOf(body).properties)
  const size = String(fieldsOf(properties.hardwareProfile).vmSize ?? '')
  const { computerName } = fieldsOf(properties.osProfile)
  const resourceGroup = call.resourceGroup ?? ''
  const osDisk = fieldsOf(fieldsOf(properties.storageProfile).osDisk)
  const sku = fieldsOf(osDisk.managedDisk).storageAccountType
  const generation = capability(skuOf(settings, size), 'HyperVGenerations')?.includes('V2') ? 'V2' : 'V1'
  const timeCreated = new Date().toISOString()
  const disk: ArmDisk = {
    resourceGroup,
    name: typeof osDisk.name === 'string' ? osDisk.name : `${call.name}_OsDisk_1`,
    sizeGiB: typeof osDisk.diskSizeGB === 'number' ? osDisk.diskSizeGB : 30,
    sku: typeof sku === 'string' ? sku : 'Standard_LRS',
    os: true,
    generation,
    vm: keyOf(resourceGroup, call.name),
    provisioningState: 'Succeeded',
    uniqueId: randomUUID(),
    timeCreated,
  }
  const vm: ArmVm = {
    resourceGroup,
    name: call.name,
    computerName: typeof computerName === 'string' ? computerName : call.name,
    vmId: randomUUID(),
    zone: null,
    priority: 'Regular',
    tags: textsOf(fieldsOf(body).tags),
    size,
    power: 'starting',
    provisioningState: 'Creating',
    failure: null,
    etag: 0,
    osDisk: keyOf(disk.resourceGroup, disk.name),
    dataDisks: [],
    ephemeral: false,
    generation,
    diskController: 'SCSI',
    networkInterfaces: [`${call.name}-nic`],
    placementGroup: null,
    availabilitySet: null,
    hostGroup: null,
    operation: null,
    upSince: null,
    timeCreated,
    node: { cluster: '', type: 'worker', labels: {}, taints: [], etcdMember: false },
  }
  return { vm, disk }
}

export function createDisk(call: ArmCall, body: unknown): ArmDisk {
  const { diskSizeGB } = fieldsOf(fieldsOf(body).properties)
  const { name } = fieldsOf(fieldsOf(body).sku)
  return {
    resourceGroup: call.resourceGroup ?? '',
    name: call.name,
    sizeGiB: typeof diskSizeGB === 'number' ? diskSizeGB : 1,
    sku: typeof name === 'string' ? name : 'Standard_LRS',
    os: false,
    generation: 'V1',
    vm: null,
    provisioningState: 'Succeeded',
    uniqueId: randomUUID(),
    timeCreated: new Date().toISOString(),
  }
}
