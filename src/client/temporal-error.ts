import {
  isGrpcServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client'
import {
  ApplicationFailure,
  CancelledFailure,
  NamespaceNotFoundError,
  TerminatedFailure,
} from '@temporalio/common'
import { type FailureType, failedOf } from '../api/failures.js'
import type { RolloutResult } from '../api/results.js'
import { type ErrorKind, NoderollError } from './noderoll-error.js'

/** gRPC status codes, by their numbers on the wire. */
const CODE = {
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  unavailable: 14,
  unauthenticated: 16,
} as const

/** What was being asked, for the sentence: `rollout of prod-eu`, and the workflow it is about. */
export interface Asked {
  readonly what: string
  readonly workflowId: string
}

/** Whatever a call of the SDK threw, in our words. A bug of ours stays what it is. */
export function temporalError(error: unknown, asked: Asked): Error {
  if (error instanceof NoderollError) return error
  if (error instanceof WorkflowExecutionAlreadyStartedError) {
    const message = `${asked.what} is already running (workflow ${asked.workflowId}); watch it, or cancel it first`
    return new NoderollError('busy', message, { cause: error })
  }
  if (error instanceof WorkflowNotFoundError) {
    const message = error.message.includes('already completed')
      ? `${asked.what} has ended (workflow ${asked.workflowId}); start another one`
      : `there is no ${asked.what} (no workflow ${asked.workflowId}); check the name and the namespace`
    return new NoderollError('notFound', message, { cause: error })
  }
  if (error instanceof WorkflowFailedError) return endedBadly(error, asked)
  if (error instanceof WorkflowUpdateFailedError) {
    return new NoderollError('refused', `${asked.what} refused: ${error.cause?.message}`, { cause: error })
  }
  return unreachable(error) ?? (error instanceof Error ? error : new Error(String(error)))
}

/** Null when the error says nothing about whether Temporal answers. */
export function unreachable(error: unknown): NoderollError | null {
  const shut = shutOut(error)
  if (shut !== null) return shut
  const code = codeOf(error)
  if (code !== CODE.unavailable && code !== CODE.deadlineExceeded) return null
  return new NoderollError('unreachable', 'Temporal does not answer any more; try again when it does', {
    cause: error,
  })
}

/** Temporal answers, but not to us; null when that is not it. */
export function shutOut(error: unknown): NoderollError | null {
  if (error instanceof NamespaceNotFoundError) return noNamespace(error.namespace, error)
  const code = codeOf(error)
  if (code !== CODE.permissionDenied && code !== CODE.unauthenticated) return null
  const message =
    'Temporal does not let us in; check TEMPORAL_API_KEY or the client certificate, and the namespace'
  return new NoderollError('unreachable', message, { cause: error })
}

export function noNamespace(namespace: string, cause: unknown): NoderollError {
  const message = `Temporal has no namespace ${namespace}; correct the name, or create it with: temporal operator namespace create --namespace ${namespace}`
  return new NoderollError('unreachable', message, { cause })
}

/** Did time run out, rather than the connection? A query or an update then waits for a worker. */
export function isDeadline(error: unknown): boolean {
  return codeOf(error) === CODE.deadlineExceeded
}

function codeOf(error: unknown): number | null {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (isGrpcServiceError(at)) return at.code
    // Errors of the native connection have the code and nothing else.
    if ('code' in at && typeof at.code === 'number') return at.code
  }
  return null
}

function endedBadly(error: WorkflowFailedError, { what }: Asked): NoderollError {
  const { cause } = error
  if (cause instanceof CancelledFailure) {
    return new NoderollError(
      'cancelled',
      `${what} was cancelled in Temporal; its progress says how far it came`,
      { cause: error },
    )
  }
  if (cause instanceof TerminatedFailure) {
    const message = `${what} was terminated (${cause.message}), so nothing was put right; run release, or start the rollout again`
    return new NoderollError('failed', message, { cause: error })
  }
  const { type, message } = failedOf(cause, what)
  const result = cause instanceof ApplicationFailure ? asResult(cause.details?.[0]) : null
  return new NoderollError(KIND_OF_FAILURE[type] ?? 'failed', message, {
    type,
    cause: error,
    ...(result === null ? {} : { result }),
  })
}

/** The failures that have changed nothing; every other one is `failed`. */
const KIND_OF_FAILURE: { readonly [type in FailureType]?: ErrorKind } = {
  InvalidSpec: 'invalidSpec',
  SettingsRefused: 'refused',
  ClusterBusy: 'busy',
}

function asResult(details: unknown): RolloutResult | null {
  const is = typeof details === 'object' && details !== null && 'cluster' in details && 'outcome' in details
  return is ? (details as RolloutResult) : null
}
