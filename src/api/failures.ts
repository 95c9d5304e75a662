import { ActivityFailure, ApplicationFailure, CancelledFailure, TimeoutFailure } from '@temporalio/common'

/**
 * Every type a failure of noderoll can have: a closed list, part of the contract with operators and scripts.
 * docs/concepts.md says what each asks of a person.
 */
export const FAILURE_TYPES = [
  'InvalidSpec',
  'SettingsRefused',
  'ClusterBusy',
  'PreflightFailed',
  'NodeChanged',
  'DrainRefused',
  'DrainBlocked',
  'BatchTimedOut',
  'CapacityUnavailable',
  'MachineFailed',
  'VerifyFailed',
  'OutcomeUnknown',
  'LeaseLost',
  'NotAllowed',
  'Unreachable',
  'ReleaseIncomplete',
] as const

export type FailureType = (typeof FAILURE_TYPES)[number]

/** A failure that asking again does not mend. `message` is one sentence: where, what, why, what to do. */
export function failure(type: FailureType, message: string, ...details: unknown[]): ApplicationFailure {
  return ApplicationFailure.create({ type, message, nonRetryable: true, details })
}

/**
 * A failure of this attempt only; the next one comes after `seconds`, or as the retry policy says (null). Shown as the
 * pending activity's last failure. Says when it was, for `saidAt`.
 */
export function notYet(type: FailureType, message: string, seconds: number | null): ApplicationFailure {
  const nextRetryDelay = seconds === null ? {} : ({ nextRetryDelay: `${seconds} seconds` } as const)
  const details = [{ saidAt: new Date().toISOString() }]
  return ApplicationFailure.create({ type, message, nonRetryable: false, details, ...nextRetryDelay })
}

/** When the attempt that failed so had its say, in milliseconds since 1970; null where it did not tell. */
export function saidAt(failed: ApplicationFailure): number | null {
  const [first] = failed.details ?? []
  if (typeof first !== 'object' || first === null) return null
  const { saidAt: at } = first as { readonly saidAt?: unknown }
  const ms = typeof at === 'string' ? Date.parse(at) : Number.NaN
  return Number.isNaN(ms) ? null : ms
}

/** A failure in the words of the result. */
export interface Failed {
  readonly type: FailureType
  readonly message: string
}

/** The type and sentence of whatever an activity call threw; `OutcomeUnknown` where nobody can tell. */
export function failedOf(error: unknown, step: string): Failed {
  const root = rootOf(error)
  if (root instanceof ApplicationFailure) {
    const type = FAILURE_TYPES.find((one) => one === root.type)
    return { type: type ?? 'OutcomeUnknown', message: root.message }
  }
  if (root instanceof TimeoutFailure) {
    return {
      type: 'OutcomeUnknown',
      message: `${step} did not end within its time limit (${root.timeoutType ?? 'unknown limit'})`,
    }
  }
  if (root instanceof CancelledFailure) return { type: 'OutcomeUnknown', message: `${step} was cancelled` }
  return {
    type: 'OutcomeUnknown',
    message: `${step}: ${root instanceof Error ? root.message : String(root)}`,
  }
}

/** What an activity really failed of: the failure of its last attempt, also where Temporal timed it out in the end. */
export function rootOf(error: unknown): unknown {
  const cause = error instanceof ActivityFailure && error.cause !== undefined ? error.cause : error
  return cause instanceof TimeoutFailure && cause.cause instanceof ApplicationFailure ? cause.cause : cause
}
