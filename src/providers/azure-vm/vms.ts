import { z } from 'zod'
import { PortError } from '../../ports/errors.js'
import type { AzureClient } from './client.js'
import { orNull } from './groups.js'
import { type Home, partsOf } from './ids.js'
import { understood } from './region.js'
import { type AzureDisk, type AzureVm, diskAnswer, vmAnswer } from './schema.js'

const VIEWS_AT_ONCE = 10

/** A VM with its OS disk, read just now. The disk is null where the VM has no managed one. */
export interface VmAndDisk {
  readonly vm: AzureVm
  readonly disk: AzureDisk | null
}

/** Reads VMs and disks. */
export class Vms {
  readonly #client: AzureClient
  readonly #home: Home

  constructor(client: AzureClient, home: Home) {
    this.#client = client
    this.#home = home
  }

  /** All VMs of the resource group: two calls, and one for each VM whose instance view did not come along. */
  async list(signal: AbortSignal): Promise<VmAndDisk[]> {
    const { resourceGroup } = this.#home
    const [vms, disks] = await Promise.all([
      this.#listVms(signal),
      this.#client.list('listDisks', `disks of ${resourceGroup}`, signal, (compute, options) =>
        compute.disks.listByResourceGroup(resourceGroup, options),
      ),
    ])
    const known = new Map(
      understood(`disks of ${resourceGroup}`, z.array(diskAnswer), disks).map((disk) => [
        disk.id.toLowerCase(),
        disk,
      ]),
    )
    const found = understood(`VMs of ${resourceGroup}`, z.array(vmAnswer), vms)
    const complete: VmAndDisk[] = []
    for (let at = 0; at < found.length; at += VIEWS_AT_ONCE) {
      const some = found.slice(at, at + VIEWS_AT_ONCE)
      complete.push(...(await Promise.all(some.map((vm) => this.#complete(vm, known, signal)))))
    }
    return complete
  }

  async get(name: string, signal: AbortSignal): Promise<VmAndDisk | null> {
    const vm = await this.vm(name, signal)
    return vm === null ? null : { vm, disk: await this.#osDisk(vm, new Map(), signal) }
  }

  /** Model and instance view in one answer. */
  async vm(name: string, signal: AbortSignal): Promise<AzureVm | null> {
    const { resourceGroup } = this.#home
    const answer = await orNull(
      this.#client.read('getVm', `VM ${name}`, signal, ({ virtualMachines }, options) =>
        virtualMachines.get(resourceGroup, name, { ...options, expand: 'instanceView' }),
      ),
    )
    return answer === null ? null : understood(`VM ${name}`, vmAnswer, answer)
  }

  async disk(id: string, signal: AbortSignal): Promise<AzureDisk | null> {
    const { group, name } = partsOf(id)
    const answer = await orNull(
      this.#client.read('getDisk', `disk ${name}`, signal, ({ disks }, options) =>
        disks.get(group, name, options),
      ),
    )
    return answer === null ? null : understood(`disk ${name}`, diskAnswer, answer)
  }

  /** Storage types of all disks of a VM; the model of a VM that is off does not say. */
  async diskTypes(vm: AzureVm, signal: AbortSignal): Promise<string[]> {
    const { osDisk, dataDisks } = vm.storageProfile
    const types = [osDisk, ...(dataDisks ?? [])].map(async ({ managedDisk }) => {
      if (managedDisk?.storageAccountType) return managedDisk.storageAccountType
      return managedDisk?.id ? ((await this.disk(managedDisk.id, signal))?.sku?.name ?? null) : null
    })
    return (await Promise.all(types)).filter((type) => type !== null)
  }

  /** With instance views where the service gives them without a filter: it does, and documents that it does not. */
  async #listVms(signal: AbortSignal): Promise<unknown[]> {
    const { resourceGroup } = this.#home
    const list = (expand: { expand?: 'instanceView' }) =>
      this.#client.list('listVms', `VMs of ${resourceGroup}`, signal, ({ virtualMachines }, options) =>
        virtualMachines.list(resourceGroup, { ...options, ...expand }),
      )
    try {
      return await list({ expand: 'instanceView' })
    } catch (error) {
      if (!(error instanceof PortError) || error.kind !== 'refused') throw error
      return list({})
    }
  }

  async #complete(
    vm: AzureVm,
    disks: ReadonlyMap<string, AzureDisk>,
    signal: AbortSignal,
  ): Promise<VmAndDisk> {
    const disk = await this.#osDisk(vm, disks, signal)
    if (vm.instanceView) return { vm, disk }
    return { vm: (await this.vm(vm.name, signal)) ?? vm, disk }
  }

  async #osDisk(
    vm: AzureVm,
    known: ReadonlyMap<string, AzureDisk>,
    signal: AbortSignal,
  ): Promise<AzureDisk | null> {
    const id = vm.storageProfile.osDisk.managedDisk?.id
    if (!id) return null
    return known.get(id.toLowerCase()) ?? (await this.disk(id, signal))
  }
}
