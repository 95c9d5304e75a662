import type { MachineType } from '../../core/model.js'
import type { SimulatedTaint } from '../cloud-state.js'

/** What outlives a restart of the stand-in: plain data, to be read and changed by tests. */
export interface ArmState {
  readonly resourceGroups: string[]
  /** By `keyOf`. */
  readonly vms: Record<string, ArmVm>
  /** By `keyOf`. */
  readonly disks: Record<string, ArmDisk>
  /** By `keyOf`. */
  readonly placementGroups: Record<string, ArmPlacementGroup>
  /** By `keyOf`. */
  readonly availabilitySets: Record<string, ArmAvailabilitySet>
  /** Dedicated host groups by `keyOf`. */
  readonly hostGroups: Record<string, ArmNamed>
  /** By id. */
  readonly operations: Record<string, ArmOperation>
}

export interface ArmNamed {
  readonly resourceGroup: string
  readonly name: string
}

export type ArmPower = 'running' | 'starting' | 'stopping' | 'stopped' | 'deallocating' | 'deallocated'

export interface ArmVm extends ArmNamed {
  readonly computerName: string
  readonly vmId: string
  readonly zone: string | null
  readonly priority: 'Regular' | 'Spot'
  tags: Record<string, string>
  size: string
  power: ArmPower
  provisioningState: 'Creating' | 'Updating' | 'Succeeded' | 'Failed' | 'Deleting'
  /** Code of the last write's failure, shown as `ProvisioningState/failed/<code>`. */
  failure: string | null
  etag: number
  /** Keys of disks. */
  readonly osDisk: string
  readonly dataDisks: string[]
  readonly ephemeral: boolean
  readonly generation: 'V1' | 'V2'
  readonly diskController: 'SCSI' | 'NVMe'
  readonly networkInterfaces: string[]
  /** Resource ids. */
  placementGroup: string | null
  readonly availabilitySet: string | null
  readonly hostGroup: string | null
  /** Id of the operation in progress. */
  operation: string | null
  /** When it last began to run (milliseconds since 1970). */
  upSince: number | null
  readonly timeCreated: string
  readonly node: ArmNode
}

/** What the VM is to a Kubernetes cluster; ARM never shows it. */
export interface ArmNode {
  readonly cluster: string
  readonly type: MachineType
  readonly labels: Readonly<Record<string, string>>
  readonly taints: readonly SimulatedTaint[]
  readonly etcdMember: boolean
}

export interface ArmDisk extends ArmNamed {
  sizeGiB: number
  /** `Premium_LRS`, `StandardSSD_LRS`, … */
  readonly sku: string
  readonly os: boolean
  readonly generation: 'V1' | 'V2'
  /** Key of the VM it is attached to. */
  vm: string | null
  provisioningState: 'Succeeded' | 'Updating'
  readonly uniqueId: string
  readonly timeCreated: string
}

export interface ArmPlacementGroup extends ArmNamed {
  /** Sizes the group was made for; empty: any. */
  readonly intentSizes: readonly string[]
}

export interface ArmAvailabilitySet extends ArmNamed {
  readonly placementGroup: string | null
  /** What `vmSizes` of the set says. */
  readonly sizes: readonly string[]
}

export interface ArmError {
  readonly code: string
  readonly message: string
  readonly target?: string
  readonly details?: readonly ArmError[]
  readonly innererror?: { readonly internalErrorCode: string }
}

export type ArmChange =
  | {
      readonly kind: 'deallocate' | 'powerOff' | 'start' | 'restart' | 'createVm' | 'deleteVm' | 'createDisk'
    }
  | {
      readonly kind: 'updateVm'
      readonly size: string | null
      /** Undefined: stays. Null: taken out of its group. */
      readonly placementGroup?: string | null
    }
  | { readonly kind: 'updateDisk'; readonly sizeGiB: number }
  | { readonly kind: 'deleteDisk' }

export interface ArmOperation {
  readonly id: string
  readonly change: ArmChange
  /** Key of the VM or disk. */
  readonly on: string
  readonly startedAt: number
  /** When it ends by itself; null: never. */
  endsAt: number | null
  endedAt: number | null
  readonly status: 'Succeeded' | 'Failed' | 'Canceled'
  readonly error: ArmError | null
  /** Does it change anything at its end? */
  readonly effective: boolean
  /** It goes on, but asking for it answers 404. */
  readonly forgotten: boolean
  /** Number of the request in the log. */
  readonly request: number
  readonly powerBefore: ArmPower | null
  polls: number
}

/** ARM compares ids without case. */
export function keyOf(resourceGroup: string, name: string): string {
  return `${resourceGroup}/${name}`.toLowerCase()
}

export function emptyState(): ArmState {
  return {
    resourceGroups: [],
    vms: {},
    disks: {},
    placementGroups: {},
    availabilitySets: {},
    hostGroups: {},
    operations: {},
  }
}
