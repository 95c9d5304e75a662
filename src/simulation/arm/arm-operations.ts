import { randomUUID } from 'node:crypto'
import type { ArmFaultEffect } from './arm-faults.js'
import type { ArmSettings } from './arm-settings.js'
import type { ArmChange, ArmError, ArmOperation, ArmState, ArmVm } from './arm-state.js'

const SHRINK: ArmError = { code: 'InvalidParameter', message: 'Disks or snapshot cannot be resized down.' }

/** Operations in progress. They go on with nobody asking, and after a restart of the stand-in as well. */
export class ArmOperations {
  readonly #settings: ArmSettings
  readonly #state: () => ArmState
  readonly #changed: (vmKey: string | null) => void
  readonly #tookEffect: (request: number) => void
  readonly #timers = new Map<string, NodeJS.Timeout>()

  constructor(
    settings: ArmSettings,
    state: () => ArmState,
    tell: { changed(vmKey: string | null): void; tookEffect(request: number): void },
  ) {
    this.#settings = settings
    this.#state = state
    this.#changed = tell.changed
    this.#tookEffect = tell.tookEffect
  }

  /** Accepts a change that the rules let pass. */
  begin(
    on: string,
    change: ArmChange,
    effective: boolean,
    request: number,
    fault: ArmFaultEffect | null,
  ): ArmOperation {
    const now = Date.now()
    const disk = change.kind === 'updateDisk' ? this.#state().disks[on] : undefined
    const shrinks = change.kind === 'updateDisk' && change.sizeGiB < (disk?.sizeGiB ?? 0)
    const error =
      fault?.kind === 'operationFails' || fault?.kind === 'happensAnyway'
        ? fault.error
        : shrinks
          ? SHRINK
          : null
    const canceled = fault?.kind === 'operationFails' && fault.canceled === true
    const slower = fault?.kind === 'slow' ? fault.ms : 0
    const operation: ArmOperation = {
      id: randomUUID(),
      change,
      on,
      startedAt: now,
      endsAt: fault?.kind === 'neverEnds' ? null : now + this.#duration(change) + slower,
      endedAt: null,
      status: error === null ? 'Succeeded' : canceled ? 'Canceled' : 'Failed',
      error,
      effective:
        effective && (error === null || fault?.kind === 'happensAnyway') && fault?.kind !== 'noEffect',
      forgotten: fault?.kind === 'forgotten',
      request,
      powerBefore: this.#state().vms[on]?.power ?? null,
      polls: 0,
    }
    this.#state().operations[operation.id] = operation
    this.#enter(operation, fault)
    this.#schedule(operation)
    return operation
  }

  /** Ends an operation now, one that would never end too. */
  finish(id: string): void {
    const operation = this.#state().operations[id]
    if (operation !== undefined && operation.endedAt === null) this.#end(operation)
  }

  /** Takes up what was in progress when the stand-in went down. */
  resume(): void {
    for (const operation of Object.values(this.#state().operations)) {
      if (operation.endedAt === null) this.#schedule(operation)
    }
  }

  close(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
  }

  #duration({ kind }: ArmChange): number {
    const { deallocateMs, startMs, updateMs, diskMs } = this.#settings.delays
    if (kind === 'deallocate' || kind === 'powerOff') return deallocateMs
    if (kind === 'start' || kind === 'restart') return startMs
    return kind === 'updateDisk' || kind === 'createDisk' || kind === 'deleteDisk' ? diskMs : updateMs
  }

  #schedule(operation: ArmOperation): void {
    if (operation.endsAt === null) return
    const wait = Math.max(0, operation.endsAt - Date.now())
    this.#timers.set(
      operation.id,
      setTimeout(() => this.#end(operation), wait),
    )
  }

  /** What shows while the operation runs. */
  #enter(operation: ArmOperation, fault: ArmFaultEffect | null): void {
    const { vms, disks } = this.#state()
    const disk = disks[operation.on]
    const vm = vms[operation.on]
    if (operation.change.kind.endsWith('Disk')) {
      if (disk !== undefined) disk.provisioningState = 'Updating'
      this.#changed(null)
      return
    }
    if (vm === undefined) return
    vm.operation = operation.id
    vm.failure = null
    vm.etag += 1
    const { kind } = operation.change
    vm.provisioningState = kind === 'createVm' ? 'Creating' : kind === 'deleteVm' ? 'Deleting' : 'Updating'
    if (operation.effective || (fault?.kind === 'operationFails' && kind === 'start')) {
      if (kind === 'deallocate') vm.power = 'deallocating'
      if (kind === 'powerOff') vm.power = 'stopping'
      if (kind === 'start' && vm.power !== 'running') vm.power = 'starting'
    }
    this.#changed(operation.on)
  }

  #end(operation: ArmOperation): void {
    clearTimeout(this.#timers.get(operation.id))
    this.#timers.delete(operation.id)
    operation.endedAt = Date.now()
    const { vms, disks } = this.#state()
    const vm = vms[operation.on]
    const disk = disks[operation.on]
    const { change } = operation
    if (change.kind.endsWith('Disk')) {
      if (disk !== undefined) disk.provisioningState = 'Succeeded'
      if (operation.effective && disk !== undefined && change.kind === 'updateDisk')
        disk.sizeGiB = change.sizeGiB
      if (operation.effective && change.kind === 'deleteDisk') delete disks[operation.on]
    } else if (vm !== undefined) {
      this.#settle(operation, vm)
    }
    if (operation.effective) this.#tookEffect(operation.request)
    this.#changed(change.kind.endsWith('Disk') ? null : operation.on)
  }

  #settle(operation: ArmOperation, vm: ArmVm): void {
    const { change } = operation
    if (vm.operation === operation.id) vm.operation = null
    vm.provisioningState = operation.status === 'Failed' ? 'Failed' : 'Succeeded'
    vm.failure = operation.status === 'Failed' ? (operation.error?.code ?? null) : null
    if (operation.effective) {
      this.#carryOut(change, vm, operation)
    } else if (operation.powerBefore !== null) {
      // As it was: no room for a VM leaves it off.
      vm.power = operation.powerBefore
    }
  }

  #carryOut(change: ArmChange, vm: ArmVm, { on, endedAt }: ArmOperation): void {
    switch (change.kind) {
      case 'deallocate':
      case 'powerOff':
        vm.power = change.kind === 'deallocate' ? 'deallocated' : 'stopped'
        vm.upSince = null
        return
      case 'createVm':
      case 'start':
      case 'restart':
        vm.power = 'running'
        vm.upSince = endedAt
        return
      case 'updateVm':
        if (change.size !== null) {
          vm.size = change.size
          // The platform restarts a VM that it resizes while it runs.
          if (vm.power === 'running') vm.upSince = endedAt
        }
        if (change.placementGroup !== undefined) vm.placementGroup = change.placementGroup
        return
      case 'deleteVm':
        delete this.#state().vms[on]
        return
      default:
        return
    }
  }
}
