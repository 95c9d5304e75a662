import { isGrpcServiceError } from '@temporalio/client'
import { NamespaceNotFoundError } from '@temporalio/common'
import { NoderollError } from './noderoll-error.js'

/** gRPC status codes, by their numbers on the wire. */
const CODE = {
  cancelled: 1,
  unknown: 2,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  aborted: 10,
  internal: 13,
  unavailable: 14,
  dataLoss: 15,
  unauthenticated: 16,
} as const

/** What servers, and proxies on the way to them, answer while they restart or are overloaded: a moment later they may not. */
const PASSING: readonly number[] = [CODE.cancelled, CODE.unknown, CODE.aborted, CODE.internal, CODE.dataLoss]

/** Temporal does not answer, or not to us; null when the error says something else. */
export function unreachable(error: unknown): NoderollError | null {
  return shutOut(error) ?? outage(error)
}

/** Temporal answers, but not to us: asking again does not help. Null when that is not it. */
export function shutOut(error: unknown): NoderollError | null {
  if (error instanceof NamespaceNotFoundError) return noNamespace(error.namespace, error)
  const { code, details = '' } = statusOf(error) ?? {}
  // Calls beside those on workflows come without a class of the SDK.
  const namespace = code === CODE.notFound ? /^Namespace (.+) is not found/.exec(details)?.[1] : undefined
  if (namespace !== undefined) return noNamespace(namespace, error)
  if (code !== CODE.permissionDenied && code !== CODE.unauthenticated) return null
  const message =
    'Temporal does not let us in; check TEMPORAL_API_KEY or the client certificate, and the namespace'
  return new NoderollError('denied', message, { cause: error })
}

export function noNamespace(namespace: string, cause: unknown): NoderollError {
  const message = `Temporal has no namespace ${namespace}; correct the name, or create it with: temporal operator namespace create --namespace ${namespace}`
  return new NoderollError('denied', message, { cause })
}

function outage(error: unknown): NoderollError | null {
  const status = statusOf(error)
  const message = status === null ? null : sayOutage(status)
  return message === null ? null : new NoderollError('unreachable', message, { cause: error })
}

function sayOutage({ code, details }: Status): string | null {
  if (code === CODE.unavailable || code === CODE.deadlineExceeded) {
    return 'Temporal does not answer any more; try again when it does'
  }
  if (code === CODE.resourceExhausted) return `Temporal is asked too much (${details}); try again later`
  return PASSING.includes(code) ? `Temporal does not answer as it should (${details}); try again` : null
}

/** Did time run out, rather than the connection? A query or an update then waits for a worker. */
export function isDeadline(error: unknown): boolean {
  return statusOf(error)?.code === CODE.deadlineExceeded
}

/** There is no such thing: a workflow that never was, or that is past its retention. */
export function isNotFound(error: unknown): boolean {
  return statusOf(error)?.code === CODE.notFound
}

interface Status {
  readonly code: number
  readonly details: string
}

/** What gRPC said; null for an error that did not come over the wire. */
export function statusOf(error: unknown): Status | null {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (isGrpcServiceError(at)) return { code: at.code, details: at.details }
    // Errors of the native connection have the code and nothing else.
    if ('code' in at && typeof at.code === 'number') return { code: at.code, details: at.message }
  }
  return null
}
