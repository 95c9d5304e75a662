import type { ArmSettings } from './arm-settings.js'
import {
  type ArmAvailabilitySet,
  type ArmDisk,
  type ArmNamed,
  type ArmState,
  type ArmVm,
  keyOf,
} from './arm-state.js'

/** Writes resources the way ARM answers them. */
export class ArmBodies {
  readonly #settings: ArmSettings
  readonly #state: () => ArmState

  constructor(settings: ArmSettings, state: () => ArmState) {
    this.#settings = settings
    this.#state = state
  }

  id(type: string, { resourceGroup, name }: ArmNamed): string {
    return `/subscriptions/${this.#settings.subscriptionId}/resourceGroups/${resourceGroup}/providers/Microsoft.Compute/${type}/${name}`
  }

  vm(vm: ArmVm, withInstanceView: boolean): object {
    const nic = (name: string, primary: boolean) => ({
      id: `/subscriptions/${this.#settings.subscriptionId}/resourceGroups/${vm.resourceGroup}/providers/Microsoft.Network/networkInterfaces/${name}`,
      properties: { primary },
    })
    return {
      name: vm.name,
      id: this.id('virtualMachines', vm),
      type: 'Microsoft.Compute/virtualMachines',
      location: this.#settings.location,
      tags: vm.tags,
      ...(vm.zone === null ? {} : { zones: [vm.zone] }),
      properties: {
        vmId: vm.vmId,
        hardwareProfile: { vmSize: vm.size },
        storageProfile: this.#storage(vm),
        osProfile: {
          computerName: vm.computerName,
          adminUsername: 'azureuser',
          linuxConfiguration: { disablePasswordAuthentication: true, provisionVMAgent: true },
          secrets: [],
          allowExtensionOperations: true,
          requireGuestProvisionSignal: true,
        },
        networkProfile: { networkInterfaces: vm.networkInterfaces.map((name, at) => nic(name, at === 0)) },
        ...(vm.placementGroup === null ? {} : { proximityPlacementGroup: { id: vm.placementGroup } }),
        ...(vm.availabilitySet === null ? {} : { availabilitySet: { id: vm.availabilitySet } }),
        ...(vm.hostGroup === null ? {} : { hostGroup: { id: vm.hostGroup } }),
        ...(vm.priority === 'Regular' ? {} : { priority: vm.priority }),
        provisioningState: vm.provisioningState,
        timeCreated: vm.timeCreated,
        ...(withInstanceView ? { instanceView: this.instanceView(vm) } : {}),
      },
      etag: `"${vm.etag}"`,
    }
  }

  /** A VM that is off shows disks, generation and statuses only. */
  instanceView(vm: ArmVm): object {
    const disks = [vm.osDisk, ...vm.dataDisks].map((key) => ({
      name: this.#state().disks[key]?.name ?? key,
      statuses: [status('ProvisioningState/succeeded', 'Provisioning succeeded', vm.timeCreated)],
    }))
    const agent = {
      computerName: vm.computerName,
      osName: 'debian',
      osVersion: '13',
      vmAgent: {
        vmAgentVersion: '2.9.1.1',
        statuses: [status('ProvisioningState/succeeded', 'Ready', vm.timeCreated, 'Guest Agent is running')],
        extensionHandlers: [],
      },
    }
    return {
      ...(vm.power === 'running' ? agent : {}),
      disks,
      hyperVGeneration: vm.generation,
      statuses: [
        provisioningStatus(vm),
        { code: `PowerState/${vm.power}`, level: 'Info', displayStatus: `VM ${vm.power}` },
      ],
    }
  }

  disk(disk: ArmDisk): object {
    const vm = disk.vm === null ? undefined : this.#state().vms[disk.vm]
    const state = vm === undefined ? 'Unattached' : vm.power === 'deallocated' ? 'Reserved' : 'Attached'
    return {
      name: disk.name,
      id: this.id('disks', disk),
      type: 'Microsoft.Compute/disks',
      location: this.#settings.location,
      tags: {},
      ...(vm === undefined ? {} : { managedBy: this.id('virtualMachines', vm) }),
      sku: { name: disk.sku, tier: disk.sku.split('_')[0] },
      properties: {
        ...(disk.os ? { osType: 'Linux', hyperVGeneration: disk.generation } : {}),
        creationData: { createOption: disk.os ? 'FromImage' : 'Empty' },
        diskSizeGB: disk.sizeGiB,
        diskIOPSReadWrite: 500,
        diskMBpsReadWrite: 60,
        encryption: { type: 'EncryptionAtRestWithPlatformKey' },
        timeCreated: disk.timeCreated,
        provisioningState: disk.provisioningState,
        diskState: state,
        diskSizeBytes: disk.sizeGiB * 1024 ** 3,
        uniqueId: disk.uniqueId,
      },
    }
  }

  /** The first answer to a write: the resource as it will be, of which little is known yet. */
  acceptedDisk(disk: ArmDisk, sizeGiB: number): object {
    return {
      name: disk.name,
      id: this.id('disks', disk),
      type: 'Microsoft.Compute/disks',
      location: this.#settings.location,
      sku: { name: disk.sku },
      properties: {
        creationData: { createOption: disk.os ? 'FromImage' : 'Empty' },
        diskSizeGB: sizeGiB,
        provisioningState: 'Updating',
        isArmResource: true,
      },
    }
  }

  named(type: string, resource: ArmNamed, properties: object): object {
    const { location } = this.#settings
    return {
      name: resource.name,
      id: this.id(type, resource),
      type: `Microsoft.Compute/${type}`,
      location,
      properties,
    }
  }

  availabilitySet(set: ArmAvailabilitySet): object {
    const id = this.id('availabilitySets', set).toLowerCase()
    const members = Object.values(this.#state().vms).filter((vm) => vm.availabilitySet?.toLowerCase() === id)
    return this.named('availabilitySets', set, {
      platformUpdateDomainCount: 5,
      platformFaultDomainCount: 2,
      virtualMachines: members.map((vm) => ({ id: this.id('virtualMachines', vm) })),
      ...(set.placementGroup === null ? {} : { proximityPlacementGroup: { id: set.placementGroup } }),
    })
  }

  /** A VM that is deallocated loses the size and type of its disks from the model. */
  #storage(vm: ArmVm): object {
    const off = vm.power === 'deallocated'
    const managed = (disk: ArmDisk) => ({
      ...(off ? {} : { storageAccountType: disk.sku }),
      // In another letter case than anywhere else, as in the recordings.
      id: this.id('disks', { ...disk, resourceGroup: disk.resourceGroup.toUpperCase() }),
    })
    const disk = (key: string) => {
      const found = this.#state().disks[key]
      if (found === undefined) throw new Error(`no disk ${key}`)
      return found
    }
    const os = disk(vm.osDisk)
    const common = { createOption: 'FromImage', caching: vm.ephemeral ? 'ReadOnly' : 'ReadWrite' }
    return {
      imageReference: {
        publisher: 'Debian',
        offer: 'debian-13',
        sku: '13',
        version: 'latest',
        exactVersion: '13.0.1',
      },
      osDisk: {
        osType: 'Linux',
        name: os.name,
        ...common,
        ...(vm.ephemeral ? { diffDiskSettings: { option: 'Local', placement: 'CacheDisk' } } : {}),
        managedDisk: managed(os),
        deleteOption: 'Detach',
        ...(off ? {} : { diskSizeGB: os.sizeGiB }),
      },
      dataDisks: vm.dataDisks.map((key, lun) => ({
        lun,
        name: disk(key).name,
        createOption: 'Attach',
        caching: 'None',
        managedDisk: managed(disk(key)),
        ...(off ? {} : { diskSizeGB: disk(key).sizeGiB }),
        toBeDetached: false,
      })),
      ...(vm.diskController === 'SCSI' ? {} : { diskControllerType: vm.diskController }),
    }
  }
}

/** The key of what an id names; null when it names something else. */
export function keyOfId(id: string, type: string): string | null {
  const match = /\/resourcegroups\/([^/]+)\/providers\/microsoft\.compute\/([^/]+)\/([^/]+)$/i.exec(id)
  const [, group = '', kind = '', name = ''] = match ?? []
  return kind.toLowerCase() === type.toLowerCase() ? keyOf(group, name) : null
}

function provisioningStatus(vm: ArmVm): object {
  const time = vm.timeCreated
  if (vm.failure !== null) {
    const code = `ProvisioningState/failed/${vm.failure}`
    return { ...status(code, 'Provisioning failed', time), level: 'Error' }
  }
  const state = vm.provisioningState.toLowerCase()
  return status(
    `ProvisioningState/${state}`,
    state === 'updating' ? 'Updating' : `Provisioning ${state}`,
    time,
  )
}

function status(code: string, displayStatus: string, time: string, message?: string): object {
  return { code, level: 'Info', displayStatus, ...(message === undefined ? {} : { message }), time }
}
