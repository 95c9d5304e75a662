import type { Machine } from '../../core/model.js'
import { PortError } from '../../ports/errors.js'
import type {
  MachineChange,
  Machines,
  MachineWants,
  Offering,
  Operation,
  OperationState,
  Together,
} from '../../ports/machines.js'
import { AzureClient } from './client.js'
import type { AzureEnvironment } from './environment.js'
import { kindOfOutcome } from './errors.js'
import { Groups } from './groups.js'
import { groupId } from './ids.js'
import { powerOf, toMachine } from './machine.js'
import type { AzureVmOptions } from './options.js'
import { type CountedChange, quotaRefusals } from './quota.js'
import { refusalsOf } from './refusals.js'
import { Region } from './region.js'
import { type AzureVm, operationAnswer } from './schema.js'
import type { Size } from './sizes.js'
import { type VmAndDisk, Vms } from './vms.js'
import { warningsOf } from './warnings.js'

/** Azure VMs of one resource group. A machine's id is the name of its VM, an operation is its URL. */
export class AzureVmMachines implements Machines {
  readonly #options: AzureVmOptions
  readonly #client: AzureClient
  readonly #vms: Vms
  readonly #region: Region
  readonly #groups: Groups
  /** As last read; enough to judge settings by, never to act on. */
  readonly #lastSeen = new Map<string, AzureVm>()

  constructor(options: AzureVmOptions, environment: AzureEnvironment) {
    this.#options = options
    this.#client = new AzureClient(options.subscriptionId, environment)
    this.#vms = new Vms(this.#client, options)
    this.#region = new Region(this.#client)
    this.#groups = new Groups(this.#client, options)
  }

  async list(signal: AbortSignal): Promise<Machine[]> {
    const found = (await this.#vms.list(signal)).filter(({ vm }) => this.#isOurs(vm))
    const sizes = ({ vm }: VmAndDisk) => this.#region.size(vm.location, vm.hardwareProfile.vmSize, signal)
    return Promise.all(found.map(async (one) => this.#machine(one, await sizes(one))))
  }

  async get(id: string, signal: AbortSignal): Promise<Machine | null> {
    const found = await this.#vms.get(id, signal)
    if (found === null || !this.#isOurs(found.vm)) return null
    const { location, hardwareProfile } = found.vm
    // A machine that is off is started by what is read here, whether or not the sizes of the region can be listed.
    return this.#machine(found, await this.#region.sizeIfKnown(location, hardwareProfile.vmSize, signal))
  }

  async offerings(signal: AbortSignal): Promise<Offering[]> {
    if (this.#lastSeen.size === 0) await this.list(signal)
    const locations = new Set([...this.#lastSeen.values()].map((vm) => vm.location.toLowerCase()))
    const sizes = await Promise.all([...locations].map((one) => this.#region.sizes(one, signal)))
    return sizes.flatMap((some) =>
      [...some.values()]
        .filter((size) => size.restricted === null)
        .map(({ name, cpu, memoryMiB }) => ({ name, cpu, memoryMiB })),
    )
  }

  async refusals(machine: Machine, wants: MachineWants, signal: AbortSignal): Promise<string[]> {
    const vm = await this.#seen(machine.id, signal)
    const question = {
      ...{ machine, vm, wants, groups: this.#groups },
      sizes: await this.#region.sizes(vm.location, signal),
      diskTypes: await this.#vms.diskTypes(vm, signal),
      allowTempDiskChange: this.#options.allowTempDiskChange,
    }
    return refusalsOf(question, signal)
  }

  async together(changes: readonly MachineChange[], signal: AbortSignal): Promise<Together> {
    const known: { change: MachineChange; has: CountedChange['has'] }[] = []
    const locations = new Map<string, CountedChange[]>()
    for (const change of changes) {
      const vm = await this.#seen(change.machine.id, signal)
      const has = await this.#region.size(vm.location, change.machine.offering, signal)
      known.push({ change, has })
      const { offering } = change.wants
      const wants =
        offering === null || offering === change.machine.offering
          ? undefined
          : await this.#region.size(vm.location, offering, signal)
      if (wants === undefined) continue
      const one = { change, has, wants, spot: vm.priority === 'Spot' }
      locations.set(vm.location, [...(locations.get(vm.location) ?? []), one])
    }
    const refusals: Record<string, string[]> = {}
    for (const [location, some] of locations) {
      Object.assign(refusals, quotaRefusals(some, await this.#region.quotas(location, signal), location))
    }
    return { refusals, warnings: warningsOf(known) }
  }

  /** Azure has no operations on what noderoll calls a cluster. */
  async clusterOperation(): Promise<string | null> {
    return null
  }

  turn(id: string): number {
    return this.#client.turn(id)
  }

  /** Deallocates: a VM that is only powered off keeps its hardware, and what cannot be changed there. */
  stop(id: string, signal: AbortSignal): Promise<Operation> {
    const write = { kind: 'deallocate', id, what: `deallocate ${id}` }
    return this.#client.accept(write, signal, ({ virtualMachines }, options) =>
      virtualMachines.deallocate(this.#options.resourceGroup, id, options),
    )
  }

  start(id: string, signal: AbortSignal): Promise<Operation> {
    const write = { kind: 'start', id, what: `start ${id}` }
    return this.#client.accept(write, signal, ({ virtualMachines }, options) =>
      virtualMachines.start(this.#options.resourceGroup, id, options),
    )
  }

  async setOffering(id: string, offering: string, signal: AbortSignal): Promise<Operation> {
    return this.#change(id, signal, ({ vm }) =>
      this.#updateVm(vm, { hardwareProfile: { vmSize: offering } }, signal),
    )
  }

  async growRootDisk(id: string, sizeGiB: number, signal: AbortSignal): Promise<Operation> {
    return this.#change(id, signal, ({ disk }) => {
      if (disk === null) throw new PortError('refused', `grow the OS disk of ${id}: it has no managed disk`)
      if (sizeGiB < (disk.diskSizeGB ?? 0)) {
        throw new PortError(
          'refused',
          `grow ${disk.name}: it has ${disk.diskSizeGB} GiB and cannot shrink to ${sizeGiB}`,
        )
      }
      const group = /\/resourcegroups\/([^/]+)\//i.exec(disk.id)?.[1] ?? this.#options.resourceGroup
      const write = { kind: 'updateDisk', id, what: `grow ${disk.name}` }
      return this.#client.accept(write, signal, ({ disks }, options) =>
        disks.update(group, disk.name, { diskSizeGB: sizeGiB }, options),
      )
    })
  }

  /** A dedicated host is none of these groups, so it stays (CKS-05). */
  async setAffinityGroups(id: string, names: readonly string[], signal: AbortSignal): Promise<Operation> {
    const [name, second] = names
    if (second !== undefined)
      throw new PortError(
        'refused',
        `a VM is in one proximity placement group at most, not in ${names.join(', ')}`,
      )
    const group = name === undefined ? {} : { id: groupId(name, this.#options) }
    return this.#change(id, signal, ({ vm }) =>
      this.#updateVm(vm, { proximityPlacementGroup: group }, signal),
    )
  }

  async operation(operation: string, signal: AbortSignal): Promise<OperationState> {
    if (!this.#client.mayAsk(operation))
      return { kind: 'forgotten', why: `${operation.slice(0, 100)} is no operation of this endpoint` }
    const answer = await this.#client.poll(operation, signal)
    if (answer === null) return { kind: 'running' }
    const parsed = operationAnswer.safeParse(answer.body)
    // A failure to read the state says nothing about the operation; a URL that is refused or gone will not get better.
    if (answer.status >= 500 || answer.status === 408 || (answer.status === 200 && !parsed.success))
      throw new PortError('unreachable', `the state of an operation: ${answer.status}`)
    if (answer.status !== 200 || !parsed.success)
      return { kind: 'forgotten', why: `Azure no longer knows the operation (${answer.status})` }
    const { status, error } = parsed.data
    const why = `${error?.code ?? status}: ${error?.message ?? 'Azure gives no reason'}`
    if (status === 'Succeeded') return { kind: 'done' }
    if (status === 'Canceled') return { kind: 'forgotten', why }
    return status === 'Failed'
      ? { kind: kindOfOutcome(error?.code ?? '', error?.message ?? ''), why }
      : { kind: 'running' }
  }

  /** Only what differs, and only if nobody wrote in between. */
  #updateVm(
    vm: AzureVm,
    change: { hardwareProfile: { vmSize: string } } | { proximityPlacementGroup: { id?: string } },
    signal: AbortSignal,
  ): Promise<Operation> {
    const write = { kind: 'updateVm', id: vm.name, what: `update ${vm.name}` }
    return this.#client.accept(write, signal, ({ virtualMachines }, options) =>
      virtualMachines.update(this.#options.resourceGroup, vm.name, change, {
        ...options,
        ...(vm.etag ? { ifMatch: vm.etag } : {}),
      }),
    )
  }

  /**
   * Changes a VM that is deallocated. One that somebody stopped from inside still has its hardware and is deallocated
   * first: that is then the operation, and the caller looks again at its end.
   */
  async #change(
    id: string,
    signal: AbortSignal,
    change: (found: VmAndDisk) => Promise<Operation>,
  ): Promise<Operation> {
    const found = await this.#vms.get(id, signal)
    if (found === null)
      throw new PortError('notFound', `there is no VM ${id} in ${this.#options.resourceGroup}`)
    const power = powerOf(found.vm)
    if (power === 'stopped') return change(found)
    if (power === 'stoppedAllocated') return this.stop(id, signal)
    const kind = power === 'running' ? 'refused' : 'conflict'
    throw new PortError(kind, `VM ${id} is ${power}: it is changed only while it is deallocated`)
  }

  #machine({ vm, disk }: VmAndDisk, size: Size | undefined): Machine {
    this.#lastSeen.set(vm.name, vm)
    return toMachine(vm, disk, size, this.#options.resourceGroup)
  }

  async #seen(id: string, signal: AbortSignal): Promise<AzureVm> {
    const vm = this.#lastSeen.get(id) ?? (await this.#vms.vm(id, signal))
    if (vm === null) throw new PortError('notFound', `there is no VM ${id} in ${this.#options.resourceGroup}`)
    return vm
  }

  #isOurs(vm: AzureVm): boolean {
    const [name = '', ...value] = (this.#options.tag ?? '').split('=')
    if (name === '') return true
    // Names of tags have no case, their values do.
    const tag = Object.entries(vm.tags ?? {}).find(([key]) => key.toLowerCase() === name.toLowerCase())
    return tag?.[1] === value.join('=')
  }
}
