import { PortError, type PortErrorKind } from '../../ports/errors.js'

/** What an answer of Azure says went wrong. */
export interface AzureFailure {
  /** Null: there was no answer. */
  readonly status: number | null
  readonly code: string
  readonly message: string
}

/** No room for this size, here and now, or none for this subscription: another size may fit. */
const CAPACITY = new Set([
  'AllocationFailed',
  'ZonalAllocationFailed',
  'OverconstrainedAllocationRequest',
  'OverconstrainedZonalAllocationRequest',
  'SkuNotAvailable',
])

/** Somebody else's write came first, or came after: only the resource tells what is true now. */
const OVERTAKEN = new Set(['OperationPreempted', 'CanceledAndSupersededDueToAnotherOperation'])

const BUSY = new Set([
  'AttachDiskWhileBeingDetached',
  'PreconditionFailed',
  'ResourceUpdateBlockedOnPlatformUpdate',
  ...OVERTAKEN,
])

/** Two of the wordings of one code that otherwise means "not with these settings". */
const QUOTA_TEXT = /exceeding (approved .* quota|quota limits)/i
const BUSY_TEXT = /an ongoing operation is changing power state/i
const GOING_TEXT = /marked for deletion/i

/** What an answer means for whoever called. Code and text decide where the status differs from thread to thread. */
export function kindOfFailure({ status, code, message }: AzureFailure): PortErrorKind {
  if (status === null || status === 408 || status >= 500) return 'unreachable'
  // Compute's own throttling has the code OperationNotAllowed: only the status tells it from a quota.
  if (status === 429) return 'throttled'
  if (CAPACITY.has(code) || QUOTA_TEXT.test(message)) return 'capacity'
  if (status === 404 || GOING_TEXT.test(message)) return 'notFound'
  if (BUSY.has(code) || BUSY_TEXT.test(message)) return 'conflict'
  // With status 400 it is no race: the disk's own configuration is broken.
  if (code === 'Conflict' && status === 409) return 'conflict'
  if (status === 412) return 'conflict'
  return 'refused'
}

/** What the end of an operation means. `forgotten`: the resource has to be read to know. */
export function kindOfOutcome(code: string, message: string): 'capacity' | 'failed' | 'forgotten' {
  if (CAPACITY.has(code) || QUOTA_TEXT.test(message)) return 'capacity'
  return OVERTAKEN.has(code) ? 'forgotten' : 'failed'
}

/** A failed call of the client as a `PortError`. `what` is the call in words: `start of w-1`. */
export function asPortError(what: string, error: unknown): PortError {
  const found = failureOf(error)
  const kind = kindOfFailure(found)
  const status = found.status === null ? '' : `${found.status} `
  const retryAfterSeconds = retryAfterOf(error)
  return new PortError(kind, `${what}: ${status}${found.code}: ${found.message}`, {
    cause: error,
    ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
  })
}

/** Whole seconds of a `Retry-After`, or null. */
export function secondsOf(header: string | null | undefined): number | null {
  const seconds = Number.parseInt(header ?? '', 10)
  return Number.isNaN(seconds) || seconds < 0 ? null : seconds
}

function failureOf(error: unknown): AzureFailure {
  const { code, statusCode, message, name } = fields(error)
  return {
    // A token that cannot be had now may be had later; it must not look like a decision of Azure.
    status: typeof statusCode === 'number' && name === 'RestError' ? statusCode : null,
    code: typeof code === 'string' && code !== '' ? code : String(name ?? 'Error'),
    message: String(message ?? error),
  }
}

function retryAfterOf(error: unknown): number | null {
  const headers = fields(fields(error).response).headers as
    | { get?(name: string): string | undefined }
    | undefined
  return secondsOf(headers?.get?.('retry-after'))
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}
