import { ApplicationFailure, CancelledFailure } from '@temporalio/common'
import { type FailureType, failure, notYet } from '../api/failures.js'
import { PortError } from '../ports/errors.js'

/** Never asked to wait longer than this by the other side, in seconds. */
const LONGEST_PAUSE_SECONDS = 120

/**
 * A port's error as a failure of the step: what may pass by itself is retried within the caller's budget, a refusal
 * is final with the given type, or as `NotAllowed` where it is not about this step. Anything else is a bug and stays what it is.
 */
function portFailure(error: unknown, where: string, refusedAs: FailureType): unknown {
  if (!(error instanceof PortError)) return error
  const sentence = `${where}: ${error.message}`
  // Where nobody says how long, the retry policy backs off: a pause of ours would mean a try a second for 24 hours.
  const asked = error.retryAfterSeconds
  const pause = asked === null ? null : Math.max(1, Math.min(asked, LONGEST_PAUSE_SECONDS))
  switch (error.kind) {
    case 'unreachable':
    case 'conflict':
    case 'throttled':
      return notYet('Unreachable', sentence, pause)
    case 'capacity':
      return failure('CapacityUnavailable', sentence)
    case 'notFound':
    case 'refused':
      return failure(error.notAllowed ? 'NotAllowed' : refusedAs, sentence)
    default:
      return error.kind satisfies never
  }
}

/** Runs a step and turns a port's error into the step's failure. */
export async function orFailure<T>(
  where: string,
  refusedAs: FailureType,
  step: () => Promise<T>,
): Promise<T> {
  try {
    return await step()
  } catch (error) {
    throw portFailure(error, where, refusedAs)
  }
}

/** Is this error somebody's decision (ours or Temporal's), not an outside world's? */
export function isDecision(error: unknown): boolean {
  return error instanceof ApplicationFailure || error instanceof CancelledFailure
}
