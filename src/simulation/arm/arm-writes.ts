import { type ArmAnswer, answer, groupNotFound, notFound, refuse } from './arm-answer.js'
import type { ArmBodies } from './arm-bodies.js'
import type { ArmCall } from './arm-calls.js'
import { createDisk, createVm } from './arm-creations.js'
import type { ArmFaultEffect } from './arm-faults.js'
import type { ArmOperations } from './arm-operations.js'
import { busyRefusal, judgeDisk, judgePower, judgeUpdate } from './arm-rules.js'
import type { ArmSettings } from './arm-settings.js'
import { type ArmChange, type ArmOperation, type ArmState, type ArmVm, keyOf } from './arm-state.js'

/** A call that changes something. */
export interface ArmWrite {
  readonly call: ArmCall
  readonly body: unknown
  readonly ifMatch: string | null
  /** Number of the request in the log. */
  readonly request: number
  /** `https://host:port` of this stand-in as the client sees it. */
  readonly origin: string
  readonly fault: ArmFaultEffect | null
}

/** Judges and begins changes: everything but a GET. */
export class ArmWrites {
  readonly #settings: ArmSettings
  readonly #state: () => ArmState
  readonly #bodies: ArmBodies
  readonly #operations: ArmOperations
  readonly #changed: (vmKey: string | null) => void

  constructor(
    settings: ArmSettings,
    state: () => ArmState,
    bodies: ArmBodies,
    operations: ArmOperations,
    changed: (vmKey: string | null) => void,
  ) {
    this.#settings = settings
    this.#state = state
    this.#bodies = bodies
    this.#operations = operations
    this.#changed = changed
  }

  /** Null: a call that this stand-in does not know. */
  answer(write: ArmWrite): ArmAnswer | null {
    const { call } = write
    const group = call.resourceGroup ?? ''
    const state = this.#state()
    if (!state.resourceGroups.some((one) => one.toLowerCase() === group.toLowerCase())) {
      return call.call === 'other' ? null : groupNotFound(group)
    }
    switch (call.call) {
      case 'deallocate':
      case 'powerOff':
      case 'start':
      case 'restart':
        return this.#power(write, call.call)
      case 'updateVm':
        return this.#updateVm(write)
      case 'createVm':
        return state.vms[keyOf(group, call.name)] === undefined
          ? this.#createVm(write)
          : this.#updateVm(write)
      case 'deleteVm':
        return this.#onVm(write, (vm) => this.#accepted(write, vm, { kind: 'deleteVm' }, true))
      case 'updateDisk':
        return this.#updateDisk(write)
      case 'createDisk':
        return state.disks[keyOf(group, call.name)] === undefined
          ? this.#createDisk(write)
          : this.#updateDisk(write)
      case 'deleteDisk':
        return this.#deleteDisk(write)
      default:
        return null
    }
  }

  #onVm({ call }: ArmWrite, then: (vm: ArmVm) => ArmAnswer): ArmAnswer {
    const vm = this.#state().vms[keyOf(call.resourceGroup ?? '', call.name)]
    if (vm === undefined) return notFound('virtualMachines', call.name, call.resourceGroup ?? '')
    const busy = busyRefusal(this.#state(), vm)
    return busy === null ? then(vm) : refuse(busy.status, busy.error)
  }

  #power(write: ArmWrite, kind: 'deallocate' | 'powerOff' | 'start' | 'restart'): ArmAnswer {
    return this.#onVm(write, (vm) => {
      const verdict = judgePower(vm, kind)
      if (verdict.kind === 'refused') return refuse(verdict.refusal.status, verdict.refusal.error)
      return this.#accepted(write, vm, { kind }, verdict.kind === 'accepted' && verdict.effective)
    })
  }

  #updateVm(write: ArmWrite): ArmAnswer {
    return this.#onVm(write, (vm) => {
      if (write.ifMatch !== null && write.ifMatch !== '*' && write.ifMatch !== `"${vm.etag}"`) {
        const message = `Etag provided in if-match header ${write.ifMatch} does not match etag "${vm.etag}" of resource.`
        return refuse(412, { code: 'PreconditionFailed', message })
      }
      const verdict = judgeUpdate(this.#settings, this.#state(), vm, write.body)
      if (verdict.kind === 'refused') return refuse(verdict.refusal.status, verdict.refusal.error)
      if (verdict.kind === 'trivial') {
        if (verdict.tags !== null) vm.tags = verdict.tags
        vm.etag += 1
        this.#changed(keyOf(vm.resourceGroup, vm.name))
        return answer(200, this.#updating(vm), { etag: `"${vm.etag}"` })
      }
      const { change } = verdict
      const operation = this.#begin(write, vm, change, verdict.effective)
      // What was asked for shows at once; what is there, the instance view tells.
      return answer(200, this.#updating(asAsked(vm, change)), {
        ...this.#asyncHeaders(write, operation, false, false),
        etag: `"${vm.etag}"`,
      })
    })
  }

  #createVm(write: ArmWrite): ArmAnswer {
    const { vm, disk } = createVm(this.#settings, write.call, write.body)
    this.#state().disks[keyOf(disk.resourceGroup, disk.name)] ??= disk
    this.#state().vms[keyOf(vm.resourceGroup, vm.name)] = vm
    const operation = this.#begin(write, vm, { kind: 'createVm' }, true)
    return answer(201, this.#bodies.vm({ ...vm, power: 'running' }, false), {
      ...this.#asyncHeaders(write, operation, false, false),
      etag: `"${vm.etag}"`,
    })
  }

  #updateDisk(write: ArmWrite): ArmAnswer {
    const { call, body } = write
    const key = keyOf(call.resourceGroup ?? '', call.name)
    const disk = this.#state().disks[key]
    if (disk === undefined) return notFound('disks', call.name, call.resourceGroup ?? '')
    const verdict = judgeDisk(this.#state(), disk, body)
    if (verdict.kind === 'refused') return refuse(verdict.refusal.status, verdict.refusal.error)
    if (verdict.kind === 'trivial' || verdict.change.kind !== 'updateDisk')
      throw new Error('no change of a disk is trivial')
    const { change, effective } = verdict
    const operation = this.#operations.begin(key, change, effective, write.request, write.fault)
    const headers = this.#asyncHeaders(write, operation, true, true)
    return answer(202, this.#bodies.acceptedDisk(disk, change.sizeGiB), headers)
  }

  #createDisk(write: ArmWrite): ArmAnswer {
    const disk = createDisk(write.call, write.body)
    const key = keyOf(disk.resourceGroup, disk.name)
    this.#state().disks[key] = disk
    const operation = this.#operations.begin(key, { kind: 'createDisk' }, true, write.request, write.fault)
    const headers = this.#asyncHeaders(write, operation, true, true)
    return answer(202, this.#bodies.acceptedDisk(disk, disk.sizeGiB), headers)
  }

  #deleteDisk(write: ArmWrite): ArmAnswer {
    const key = keyOf(write.call.resourceGroup ?? '', write.call.name)
    if (this.#state().disks[key] === undefined) return answer(204)
    const operation = this.#operations.begin(key, { kind: 'deleteDisk' }, true, write.request, write.fault)
    return answer(202, undefined, this.#asyncHeaders(write, operation, true, false))
  }

  #accepted(write: ArmWrite, vm: ArmVm, change: ArmChange, effective: boolean): ArmAnswer {
    const operation = this.#begin(write, vm, change, effective)
    return answer(202, undefined, this.#asyncHeaders(write, operation, true, true))
  }

  #begin(write: ArmWrite, vm: ArmVm, change: ArmChange, effective: boolean): ArmOperation {
    const key = keyOf(vm.resourceGroup, vm.name)
    return this.#operations.begin(key, change, effective, write.request, write.fault)
  }

  #updating(vm: ArmVm): object {
    return this.#bodies.vm({ ...vm, provisioningState: 'Updating' }, false)
  }

  #asyncHeaders(
    { origin, fault, call }: ArmWrite,
    operation: ArmOperation,
    withLocation: boolean,
    withRetryAfter: boolean,
  ): Record<string, string> {
    if (fault?.kind === 'noAsyncHeader') return {}
    const { subscriptionId, location, retryAfterSeconds } = this.#settings
    const disk = operation.change.kind.endsWith('Disk')
    const path = `${origin}/subscriptions/${subscriptionId}/providers/Microsoft.Compute/locations/${location}/${disk ? 'DiskOperations' : 'operations'}/${operation.id}`
    const version = call.query.get('api-version') ?? '2024-11-01'
    // Signed and long since 2024: nobody may take it apart.
    const signature = `t=${operation.startedAt}&c=${'MIIHhzCCBm'.repeat(300)}&s=${'x'.repeat(342)}&h=${operation.id.replaceAll('-', '')}`
    const url = (more: string) => `${path}?p=${operation.id}${more}&api-version=${version}&${signature}`
    return {
      'azure-asyncoperation': url(''),
      ...(withLocation ? { location: url('&monitor=true') } : {}),
      ...(disk ? {} : { 'azure-asyncnotification': 'Enabled' }),
      ...(withRetryAfter ? { 'retry-after': String(retryAfterSeconds) } : {}),
      'x-ms-request-id': operation.id,
    }
  }
}

function asAsked(vm: ArmVm, change: ArmChange): ArmVm {
  if (change.kind !== 'updateVm') return vm
  const { size, placementGroup } = change
  return {
    ...vm,
    ...(size === null ? {} : { size }),
    ...(placementGroup === undefined ? {} : { placementGroup }),
  }
}
