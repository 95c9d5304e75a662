import type { ArmFaultEffect } from '../../../src/simulation/arm/arm-faults.js'

/** What a code asks of noderoll. */
export type CodeClass =
  /** Try another size, else go back. */
  | 'capacity'
  /** Asking again changes nothing. */
  | 'refused'
  /** Asking again, once it is over. */
  | 'again'
  /** The operation came to nothing: once more, by what the VM shows. */
  | 'onceMore'
  /** It says failed, and the VM may show that it came good. */
  | 'look'

export interface CodeRow {
  readonly code: string
  /** `sync` with a status: the answer to the call. `op`: the end of its operation. `poll`: the first question how it goes. */
  readonly where: 'sync' | 'op' | 'poll'
  readonly class: CodeClass
  readonly effect: ArmFaultEffect
}

const sync = (
  status: number,
  code: string,
  message: string,
  type: CodeClass,
  retryAfterSeconds?: number,
): CodeRow => ({
  ...{ code: `${code} ${status}`, where: 'sync', class: type },
  effect: {
    ...{ kind: 'answer', status, error: { code, message } },
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  },
})
const op = (code: string, message: string, type: CodeClass): CodeRow => ({
  ...{ code, where: 'op', class: type },
  effect: { kind: 'operationFails', error: { code, message, innererror: { internalErrorCode: code } } },
})
/** Says nothing about the operation, which goes on. */
const poll = (status: number, code: string, retryAfterSeconds?: number): CodeRow => ({
  ...sync(status, code, `${code}, asked for an operation`, 'look', retryAfterSeconds),
  where: 'poll',
})
const look = (code: string, message: string): CodeRow => ({
  ...{ code, where: 'op', class: 'look' },
  effect: { kind: 'happensAnyway', error: { code, message } },
})

const NO_CAPACITY =
  'Allocation failed. We do not have sufficient capacity for the requested VM size in this region. Read more about improving likelihood of allocation success at http://aka.ms/allocation-guidance'
const QUOTA =
  'Operation could not be completed as it results in exceeding approved Total Regional Cores quota. Additional details - Current Limit: 10'
const OLD_QUOTA =
  'Operation results in exceeding quota limits of Core. Maximum allowed: 100, Current in use: 100, Additional requested: 4.'
const CONCURRENT =
  'The request failed due to conflict with a concurrent request. To resolve it, please refer to https://aka.ms/activitylog'
const TEMP_DISK =
  "Unable to resize the VM 'w-1' since changing from resource disk to non-resource disk VM size and vice-versa is not allowed."
const GROUP_OF_RUNNING =
  'Updating proximity placement group of VM w-1 is not allowed while the VM is running. Please stop/deallocate the VM and retry the operation.'
const DISK_OF_RUNNING =
  'Cannot resize disk d while it is attached to running VM w-1. Resizing a disk of an Azure Virtual Machine requires the virtual machine to be deallocated. Please stop your VM and retry the operation.'
const EPHEMERAL =
  "Operation 'deallocate' is not supported for VMs or VM Scale Set instances using an ephemeral OS disk."
const BUSY = 'An ongoing operation is changing power state of Virtual Machine w-1 to deallocate.'

/** The codes of compute and of Resource Manager, with the texts that tell two meanings of one code apart. */
export const CODES: readonly CodeRow[] = [
  op('AllocationFailed', NO_CAPACITY, 'capacity'),
  sync(409, 'AllocationFailed', NO_CAPACITY, 'capacity'),
  op('ZonalAllocationFailed', NO_CAPACITY, 'capacity'),
  op('OverconstrainedAllocationRequest', NO_CAPACITY, 'capacity'),
  op('OverconstrainedZonalAllocationRequest', NO_CAPACITY, 'capacity'),
  sync(409, 'SkuNotAvailable', 'The requested VM size is currently not available in location', 'capacity'),
  sync(409, 'OperationNotAllowed', QUOTA, 'capacity'),
  sync(409, 'OperationNotAllowed', OLD_QUOTA, 'capacity'),
  op('OperationNotAllowed', QUOTA, 'capacity'),
  sync(
    409,
    'OperationNotAllowed',
    'Unable to resize the VM because the requested size is not available',
    'refused',
  ),
  sync(409, 'OperationNotAllowed', TEMP_DISK, 'refused'),
  sync(409, 'OperationNotAllowed', GROUP_OF_RUNNING, 'refused'),
  sync(409, 'OperationNotAllowed', DISK_OF_RUNNING, 'refused'),
  op('OperationNotAllowed', DISK_OF_RUNNING, 'onceMore'),
  sync(409, 'OperationNotAllowed', EPHEMERAL, 'refused'),
  sync(409, 'ResizeDiskError', 'Managed disk resize via Virtual Machine w-1 is not allowed.', 'refused'),
  sync(409, 'OperationNotAllowed', BUSY, 'again'),
  sync(409, 'Conflict', CONCURRENT, 'again'),
  sync(400, 'Conflict', 'DiskAccess resource is in failed state.', 'refused'),
  op('OperationPreempted', 'Operation execution has been preempted by a more recent operation.', 'onceMore'),
  op('CanceledAndSupersededDueToAnotherOperation', 'Operation was canceled and superseded', 'onceMore'),
  sync(409, 'AttachDiskWhileBeingDetached', 'the disk is currently being detached', 'again'),
  sync(409, 'ConflictingUserInput', 'Disk X cannot be attached as it is already owned', 'refused'),
  sync(409, 'PropertyChangeNotAllowed', "Changing property 'availabilitySet.id' is not allowed.", 'refused'),
  sync(400, 'InvalidParameter', 'The value provided is not valid.', 'refused'),
  op('InvalidParameter', 'Disks or snapshot cannot be resized down.', 'onceMore'),
  sync(412, 'PreconditionFailed', 'Etag provided in if-match header does not match', 'again'),
  sync(404, 'ResourceNotFound', 'The Resource was not found.', 'refused'),
  sync(404, 'ResourceGroupNotFound', "Resource group 'rg-1' could not be found.", 'refused'),
  sync(404, 'NotFound', 'The entity was not found in this Azure location.', 'refused'),
  sync(409, 'OperationNotAllowed', "VM 'w-1' is marked for deletion", 'refused'),
  sync(403, 'AuthorizationFailed', 'The client does not have authorization to perform action', 'refused'),
  sync(409, 'ScopeLocked', 'The scope cannot perform write operation because it is locked', 'refused'),
  op('VMStartTimedOut', "VM 'w-1' did not start in the allotted time.", 'onceMore'),
  look('OSProvisioningTimedOut', 'OS Provisioning did not finish in the allotted time.'),
  look('VMStartTimedOut', 'VM did not start in the allotted time.'),
  look('VMExtensionProvisioningError', 'VM has reported a failure when processing extension.'),
  look('VMExtensionProvisioningTimeout', 'Provisioning of VM extension has timed out.'),
  look('VMRedeploymentTimedOut', 'VM redeployment did not finish in the allotted time.'),
  look('VMAgentStatusCommunicationError', 'VM agent could not be reached.'),
  op('InternalExecutionError', 'An internal execution error occurred. Please retry later.', 'onceMore'),
  op('InternalOperationError', 'An internal error occurred.', 'onceMore'),
  op(
    'TooManyVMRedeploymentRequests',
    'Too many redeployment requests have been received for VM w-1.',
    'onceMore',
  ),
  op('ResourceUpdateBlockedOnPlatformUpdate', 'The resource cannot be updated at this time.', 'onceMore'),
  sync(409, 'ResourceUpdateBlockedOnPlatformUpdate', 'The resource cannot be updated at this time.', 'again'),
  sync(
    409,
    'OperationNotAllowedOnResourceThatManagesUpdatesWithMaintenanceControl',
    'Operation is not allowed on a resource with a pending maintenance.',
    'refused',
  ),
  op('OSProvisioningClientError', 'OS provisioning failed.', 'onceMore'),
  sync(429, 'OperationNotAllowed', 'too many requests have been received for this subscription.', 'again', 0),
  sync(429, 'SubscriptionRequestsThrottled', 'Number of requests for subscription exceeded', 'again', 0),
  sync(429, 'RetryableError', 'A retryable error occurred.', 'again', 0),
  sync(503, 'ServerTimeout', 'The request timed out.', 'again'),
  sync(500, 'InternalServerError', 'Encountered internal server error.', 'again'),
  sync(500, 'MultipleErrorsOccurred', 'Multiple error occurred. Please see details.', 'again'),
  poll(503, 'ServerTimeout'),
  poll(500, 'MultipleErrorsOccurred'),
  poll(429, 'OperationNotAllowed', 0),
  poll(404, 'NotFound'),
  poll(403, 'AuthorizationFailed'),
  { ...poll(0, ''), code: 'connection cut', effect: { kind: 'cut' } },
  {
    ...op('Canceled', 'Operation was canceled.', 'onceMore'),
    effect: {
      kind: 'operationFails',
      canceled: true,
      error: { code: 'Canceled', message: 'Operation was canceled.' },
    },
  },
  { code: 'answer lost', where: 'sync', class: 'look', effect: { kind: 'answerLost' } },
  { code: 'connection cut', where: 'sync', class: 'again', effect: { kind: 'cut' } },
  { code: 'operation forgotten', where: 'op', class: 'look', effect: { kind: 'forgotten' } },
  { code: 'no async header', where: 'sync', class: 'look', effect: { kind: 'noAsyncHeader' } },
  { code: 'no effect', where: 'op', class: 'onceMore', effect: { kind: 'noEffect' } },
]
