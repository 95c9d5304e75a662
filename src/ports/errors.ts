/**
 * What went wrong in an outside world, in the only words activities decide on.
 *
 * - `unreachable`: no answer, or an answer that never came whole. The call may or may not have taken effect.
 * - `throttled`: refused for now; nothing happened.
 * - `conflict`: somebody wrote in between; read again and decide again.
 * - `notFound`: the object is not there.
 * - `capacity`: the cloud has no room for this size here and now.
 * - `refused`: the other side said no for good; asking again changes nothing.
 */
export type PortErrorKind = 'unreachable' | 'throttled' | 'conflict' | 'notFound' | 'capacity' | 'refused'

export class PortError extends Error {
  readonly kind: PortErrorKind
  /** Seconds the other side asked to be left alone, when it said so. */
  readonly retryAfterSeconds: number | null
  /** A refusal of noderoll itself, whatever it asks about: a permission it lacks, credentials nobody accepts. */
  readonly notAllowed: boolean

  constructor(
    kind: PortErrorKind,
    message: string,
    options: { retryAfterSeconds?: number; notAllowed?: boolean; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'PortError'
    this.kind = kind
    this.retryAfterSeconds = options.retryAfterSeconds ?? null
    this.notAllowed = options.notAllowed ?? false
  }
}

/** The kind of a failed port call, or null when the error is a bug of ours. */
export function portErrorKind(error: unknown): PortErrorKind | null {
  return error instanceof PortError ? error.kind : null
}
