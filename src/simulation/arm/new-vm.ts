import { randomUUID } from 'node:crypto'
import type { MachineType } from '../../core/model.js'
import type { SimulatedTaint } from '../cloud-state.js'
import { type ArmDisk, type ArmVm, keyOf } from './arm-state.js'

/** What is left out is small, running, zoneless and in no group. */
export interface NewVm {
  readonly name: string
  readonly resourceGroup: string
  readonly size: string
  /** Where the node is called otherwise than the VM. */
  readonly computerName?: string
  readonly osDiskGiB?: number
  readonly osDiskSku?: string
  /** The OS disk lives on the host: no deallocate. */
  readonly ephemeral?: boolean
  /** Storage types of its data disks. */
  readonly dataDisks?: readonly string[]
  readonly networkInterfaces?: number
  readonly zone?: string
  readonly priority?: 'Regular' | 'Spot'
  readonly generation?: 'V1' | 'V2'
  readonly diskController?: 'SCSI' | 'NVMe'
  /** Resource ids. */
  readonly placementGroup?: string
  readonly availabilitySet?: string
  readonly hostGroup?: string
  readonly tags?: Readonly<Record<string, string>>
  readonly power?: 'running' | 'stopped' | 'deallocated'
  readonly node?: {
    readonly cluster: string
    readonly type?: MachineType
    readonly labels?: Readonly<Record<string, string>>
    readonly taints?: readonly SimulatedTaint[]
    readonly etcdMember?: boolean
  }
}

/** The VM `wanted` with its disks, the OS disk first. */
export function newVm(wanted: NewVm): { vm: ArmVm; disks: ArmDisk[] } {
  const { resourceGroup, name, generation = 'V2', power = 'running', node } = wanted
  const timeCreated = new Date().toISOString()
  const disk = (diskName: string, sku: string, sizeGiB: number, os: boolean): ArmDisk => ({
    resourceGroup,
    name: diskName,
    sizeGiB,
    sku,
    os,
    generation,
    vm: keyOf(resourceGroup, name),
    provisioningState: 'Succeeded',
    uniqueId: randomUUID(),
    timeCreated,
  })
  const disks = [
    disk(`${name}_OsDisk_1`, wanted.osDiskSku ?? 'StandardSSD_LRS', wanted.osDiskGiB ?? 64, true),
    ...(wanted.dataDisks ?? []).map((sku, at) => disk(`${name}_data_${at + 1}`, sku, 100, false)),
  ]
  const [osDisk = '', ...dataDisks] = disks.map((one) => keyOf(one.resourceGroup, one.name))
  const vm: ArmVm = {
    ...{ resourceGroup, name, generation, power, timeCreated, osDisk, dataDisks },
    computerName: wanted.computerName ?? name,
    vmId: randomUUID(),
    zone: wanted.zone ?? null,
    priority: wanted.priority ?? 'Regular',
    tags: { ...wanted.tags },
    size: wanted.size,
    provisioningState: 'Succeeded',
    failure: null,
    etag: 2,
    ephemeral: wanted.ephemeral ?? false,
    diskController: wanted.diskController ?? 'SCSI',
    networkInterfaces: Array.from(
      { length: wanted.networkInterfaces ?? 1 },
      (_, at) => `${name}-nic-${at + 1}`,
    ),
    placementGroup: wanted.placementGroup ?? null,
    availabilitySet: wanted.availabilitySet ?? null,
    hostGroup: wanted.hostGroup ?? null,
    operation: null,
    upSince: power === 'running' ? Date.now() : null,
    node: {
      cluster: node?.cluster ?? '',
      type: node?.type ?? 'worker',
      labels: node?.labels ?? {},
      taints: node?.taints ?? [],
      etcdMember: node?.etcdMember ?? (node?.type !== undefined && node.type !== 'worker'),
    },
  }
  return { vm, disks }
}
