import type { FailureType } from '../api/failures.js'
import type { RolloutResult } from '../api/results.js'
import type { Problem } from '../core/model.js'

/**
 * - `usage`: settings, options or files that cannot be used.
 * - `invalidSpec`: the spec has mistakes; nothing was changed.
 * - `busy`: the cluster is being rolled already.
 * - `refused`: the settings or what was asked of the rollout; nothing was changed.
 * - `notFound`: there is no such rollout, or it has ended.
 * - `unreachable`: Temporal does not answer, or not as it should; the same may succeed a moment later.
 * - `denied`: Temporal answers, but not to us: the namespace, the key or the certificate. Asking again does not help.
 * - `serverError`: Temporal answers with an error that says nothing about the rollout.
 * - `noWorker`: Temporal answers, but nobody works on the task queue.
 * - `failed`: the rollout stopped; the message says where, why and what to do.
 * - `cancelled`: natively; a cancel by signal is a result.
 */
export type ErrorKind =
  | 'usage'
  | 'invalidSpec'
  | 'busy'
  | 'refused'
  | 'notFound'
  | 'unreachable'
  | 'denied'
  | 'serverError'
  | 'noWorker'
  | 'failed'
  | 'cancelled'

interface ErrorDetails {
  readonly problems?: readonly Problem[]
  readonly type?: FailureType
  readonly result?: RolloutResult
  readonly cause?: unknown
}

/** What went wrong, in a sentence that a person can act on. */
export class NoderollError extends Error {
  readonly kind: ErrorKind
  /** Every mistake of a spec or of the settings. */
  readonly problems: readonly Problem[]
  /** Of a rollout that failed or was refused. */
  readonly type: FailureType | null
  /** How far a rollout came that failed; null where it ended before its first batch. */
  readonly result: RolloutResult | null

  constructor(kind: ErrorKind, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = 'NoderollError'
    this.kind = kind
    this.problems = details.problems ?? []
    this.type = details.type ?? null
    this.result = details.result ?? null
  }
}
