import { SimulatedCloud } from '../cloud.js'
import type { SimulatedMachine } from '../cloud-state.js'
import { CertificateAuthority } from '../kubernetes/certificate.js'
import { ArmBodies } from './arm-bodies.js'
import { ArmFaults, type ArmMatch } from './arm-faults.js'
import { ArmLog } from './arm-log.js'
import { ArmMachines } from './arm-machines.js'
import { ArmOperations } from './arm-operations.js'
import { type ArmHook, ArmRequests } from './arm-requests.js'
import { ArmServer } from './arm-server.js'
import { type ArmDelays, type ArmSettings, NO_DELAYS } from './arm-settings.js'
import { vmSkus } from './arm-size-rules.js'
import { capability, coresOf, simulatedSkus } from './arm-skus.js'
import {
  type ArmAvailabilitySet,
  type ArmDisk,
  type ArmPlacementGroup,
  type ArmState,
  type ArmVm,
  emptyState,
  keyOf,
} from './arm-state.js'
import { ArmWrites } from './arm-writes.js'
import { IDENTITY_PATH, IdentityEndpoint } from './identity-endpoint.js'
import { type NewVm, newVm } from './new-vm.js'
import { StateFile } from './state-file.js'

export interface ArmCloudOptions extends Partial<Omit<ArmSettings, 'delays'>> {
  readonly delays?: Partial<ArmDelays> & { readonly bootMs?: number }
  /** Keeps the state over restarts of the process. */
  readonly stateFile?: string
}

const SUBSCRIPTION = '00000000-0000-4000-8000-0000000000aa'
/** So few that the lists of a cluster worth rolling have several pages. */
const PAGE_SIZE = 50
const LOCATION = 'westeurope'

/**
 * A stand-in for Azure Resource Manager on 127.0.0.1: VMs, disks, sizes, quota and long-running operations over HTTPS
 * with a certificate of its own CA, and an identity endpoint over HTTP. The machines of `nodes` follow the VMs.
 */
export class ArmCloud {
  readonly settings: ArmSettings
  readonly faults = new ArmFaults()
  readonly log = new ArmLog()
  readonly #authority = new CertificateAuthority('noderoll ARM stand-in CA')
  /** The VMs as machines that kubelets, etcd members and API servers run on. */
  readonly nodes: SimulatedCloud
  readonly #file: StateFile
  readonly #machines: ArmMachines
  readonly #bodies: ArmBodies
  readonly #operations: ArmOperations
  readonly #requests: ArmRequests
  readonly #server: ArmServer
  readonly #identity = new IdentityEndpoint()
  readonly #identityServer: ArmServer
  #state: ArmState
  #url: string | null = null
  #identityUrl: string | null = null

  constructor(options: ArmCloudOptions = {}) {
    const { bootMs = 0, ...delays } = options.delays ?? {}
    const location = options.location ?? LOCATION
    this.settings = {
      subscriptionId: options.subscriptionId ?? SUBSCRIPTION,
      location,
      skus: options.skus ?? simulatedSkus(location),
      limits: options.limits ?? {},
      clusterSizes: options.clusterSizes ?? null,
      delays: { ...NO_DELAYS, ...delays },
      pageSize: options.pageSize ?? PAGE_SIZE,
      retryAfterSeconds: options.retryAfterSeconds ?? 0,
    }
    this.nodes = new SimulatedCloud({ offerings: offeringsOf(this.settings), delays: { bootMs } })
    this.#file = new StateFile(options.stateFile ?? null)
    this.#state = this.#file.load() ?? emptyState()
    this.#machines = new ArmMachines(this.nodes)
    const state = () => this.#state
    this.#bodies = new ArmBodies(this.settings, state)
    const changed = (key: string | null) => this.#changed(key)
    this.#operations = new ArmOperations(this.settings, state, {
      changed,
      tookEffect: (request) => this.log.tookEffect(request),
    })
    const writes = new ArmWrites(this.settings, state, this.#bodies, this.#operations, changed)
    const { settings, faults, log } = this
    this.#requests = new ArmRequests({ settings, state, bodies: this.#bodies, writes, faults, log })
    this.#server = new ArmServer(
      (request, response) =>
        request.url?.startsWith(IDENTITY_PATH)
          ? this.#identity.handle(request, response)
          : this.#requests.handle(request, response),
      this.#authority.issue('noderoll ARM stand-in', ['127.0.0.1', 'localhost']),
    )
    this.#identityServer = new ArmServer(
      (request, response) => this.#identity.handle(request, response),
      null,
    )
  }

  async start(port = 0): Promise<void> {
    await this.nodes.start()
    this.#url = await this.#server.start(port)
    this.#identityUrl = await this.#identityServer.start(0)
    for (const key of Object.keys(this.#state.vms)) this.#changed(key)
    this.#operations.resume()
  }

  async close(): Promise<void> {
    this.#operations.close()
    await Promise.all([this.#server.close(), this.#identityServer.close(), this.nodes.close()])
  }

  /** Gone for `downMs`, then back on the same port with what the state file holds; operations go on meanwhile. */
  async restart(downMs = 0): Promise<void> {
    const port = Number(new URL(this.url).port)
    this.#operations.close()
    await this.#server.close()
    await new Promise((resolve) => setTimeout(resolve, downMs))
    this.#state = this.#file.load() ?? this.#state
    await this.#server.start(port)
    this.#operations.resume()
  }

  get url(): string {
    if (this.#url === null) throw new Error('The ARM stand-in has not been started')
    return this.#url
  }

  /** PEM of the CA that clients have to trust. */
  get ca(): string {
    return this.#authority.cert
  }

  /** Environment with which `@azure/identity` gets its tokens here. */
  get identityEnvironment(): Record<string, string> {
    return {
      IDENTITY_ENDPOINT: `${this.#identityUrl}${IDENTITY_PATH}`,
      IDENTITY_HEADER: this.#identity.header,
    }
  }

  /** The same, but that tokens, too, are asked for over HTTPS, at a server that only `ca` vouches for. */
  get secureIdentityEnvironment(): Record<string, string> {
    return { ...this.identityEnvironment, IDENTITY_ENDPOINT: `${this.url}${IDENTITY_PATH}` }
  }

  get state(): ArmState {
    return this.#state
  }

  addVm(wanted: NewVm): ArmVm {
    const { vm, disks } = newVm(wanted)
    this.#addGroup(vm.resourceGroup)
    for (const disk of disks) this.#state.disks[keyOf(disk.resourceGroup, disk.name)] = disk
    this.#state.vms[keyOf(vm.resourceGroup, vm.name)] = vm
    this.#changed(keyOf(vm.resourceGroup, vm.name))
    return vm
  }

  /** Gives its resource id. */
  addPlacementGroup(
    group: Pick<ArmPlacementGroup, 'resourceGroup' | 'name'> & Partial<ArmPlacementGroup>,
  ): string {
    this.#addGroup(group.resourceGroup)
    this.#state.placementGroups[keyOf(group.resourceGroup, group.name)] = { intentSizes: [], ...group }
    return this.#bodies.id('proximityPlacementGroups', group)
  }

  /** Gives its resource id. */
  addAvailabilitySet(
    set: Pick<ArmAvailabilitySet, 'resourceGroup' | 'name'> & Partial<ArmAvailabilitySet>,
  ): string {
    this.#addGroup(set.resourceGroup)
    const sizes = vmSkus(this.settings).map(({ name }) => name)
    this.#state.availabilitySets[keyOf(set.resourceGroup, set.name)] = { placementGroup: null, sizes, ...set }
    return this.#bodies.id('availabilitySets', set)
  }

  /** A group of dedicated hosts. Gives its resource id. */
  addHostGroup(group: { resourceGroup: string; name: string }): string {
    this.#addGroup(group.resourceGroup)
    this.#state.hostGroups[keyOf(group.resourceGroup, group.name)] = group
    return this.#bodies.id('hostGroups', group)
  }

  /** By name; throws when there is none. */
  vm(name: string): ArmVm {
    const found = Object.values(this.#state.vms).find((vm) => vm.name === name)
    if (found === undefined) throw new Error(`The ARM stand-in has no VM ${name}`)
    return found
  }

  osDisk(vmName: string): ArmDisk {
    const found = this.#state.disks[this.vm(vmName).osDisk]
    if (found === undefined) throw new Error(`VM ${vmName} has no OS disk`)
    return found
  }

  machine(vmName: string): SimulatedMachine {
    const found = this.#machines.machine(this.vm(vmName))
    if (found === undefined) throw new Error(`VM ${vmName} belongs to no cluster`)
    return found
  }

  /** Somebody else writes, past the log: the power state, the size, anything. */
  change(name: string, write: (vm: ArmVm) => void): void {
    const vm = this.vm(name)
    write(vm)
    if (vm.power !== 'running') vm.upSince = null
    else vm.upSince ??= Date.now()
    vm.etag += 1
    this.#changed(keyOf(vm.resourceGroup, vm.name))
  }

  removeVm(name: string): void {
    const vm = this.vm(name)
    const key = keyOf(vm.resourceGroup, vm.name)
    delete this.#state.vms[key]
    this.#changed(key)
  }

  /** Ends all operations that are in progress, now. */
  finishOperations(): void {
    for (const { id, endedAt } of Object.values(this.#state.operations)) {
      if (endedAt === null) this.#operations.finish(id)
    }
  }

  /** `arrival`: before anything is done. `answer`: accepted, and the answer about to be sent. */
  onRequest(match: ArmMatch, hook: ArmHook, at: 'arrival' | 'answer' = 'answer'): () => void {
    return this.#requests.addHook(match, hook, at)
  }

  providerIdOf(vm: ArmVm): string {
    return `azure://${this.#bodies.id('virtualMachines', { name: vm.name, resourceGroup: vm.resourceGroup.toLowerCase() })}`
  }

  #addGroup(name: string): void {
    const known = this.#state.resourceGroups.some((one) => one.toLowerCase() === name.toLowerCase())
    if (!known) this.#state.resourceGroups.push(name)
  }

  #changed(key: string | null): void {
    this.#file.save(this.#state)
    const touched = key === null ? Object.keys(this.#state.vms) : [key]
    for (const one of touched) {
      const vm = this.#state.vms[one]
      this.#machines.follow(this.#state, one, vm === undefined ? '' : this.providerIdOf(vm))
    }
  }
}

function offeringsOf(settings: ArmSettings) {
  return vmSkus(settings).map((sku) => ({
    name: sku.name,
    cpu: coresOf(sku),
    memoryMiB: Math.round(Number(capability(sku, 'MemoryGB') ?? 1) * 1024),
  }))
}
