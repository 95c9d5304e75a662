import {
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client'
import { ApplicationFailure, CancelledFailure, TerminatedFailure } from '@temporalio/common'
import { type FailureType, failedOf } from '../api/failures.js'
import type { RolloutResult } from '../api/results.js'
import { type ErrorKind, NoderollError } from './noderoll-error.js'
import { isNotFound, shutOut, statusOf, unreachable } from './service-error.js'

/** What was being asked, for the sentence: `rollout of prod-eu`, and the workflow it is about. */
export interface Asked {
  readonly what: string
  readonly workflowId: string
}

/** Whatever a call of the SDK threw, in our words. */
export function temporalError(error: unknown, asked: Asked): NoderollError {
  if (error instanceof NoderollError) return error
  if (error instanceof WorkflowExecutionAlreadyStartedError) {
    const message = `${asked.what} is already running (workflow ${asked.workflowId}); watch it, or cancel it first`
    return new NoderollError('busy', message, { cause: error })
  }
  const shut = shutOut(error)
  if (shut !== null) return shut
  if (error instanceof WorkflowNotFoundError || isNotFound(error)) {
    const message = String(error).includes('already completed')
      ? `${asked.what} has ended (workflow ${asked.workflowId}); start another one`
      : `there is no ${asked.what} (no workflow ${asked.workflowId}); check the name and the namespace`
    return new NoderollError('notFound', message, { cause: error })
  }
  if (error instanceof WorkflowFailedError) return endedBadly(error, asked)
  if (error instanceof WorkflowUpdateFailedError) {
    return new NoderollError('refused', `${asked.what} refused: ${error.cause?.message}`, { cause: error })
  }
  return unreachable(error) ?? serverError(error, asked)
}

/** Temporal answers, and nothing is known about the workflow all the same. */
function serverError(error: unknown, { what }: Asked): NoderollError {
  const status = statusOf(error)
  const said = status?.details ?? (error instanceof Error ? error.message : String(error))
  const stuck = /workflow task in failed state/i.test(said)
  const why = status === null ? said : `Temporal answered with an error (${said})`
  const message = stuck
    ? `${what} is stuck: workers fail at its workflow task; their log says why`
    : `${what}: ${why}`
  return new NoderollError('serverError', message, { cause: error })
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

/** Null when it is something else. */
export function asResult(details: unknown): RolloutResult | null {
  const is = typeof details === 'object' && details !== null && 'cluster' in details && 'outcome' in details
  return is ? (details as RolloutResult) : null
}
