import type { CallName, LoggedRequest } from './request-log.js'

/**
 * What goes wrong with a call.
 *
 * - `status`: answered with this status and nothing done; `code` is the machine-readable word in the body.
 * - `capacity`: accepted, ends `capacity` without effect. With an `offering`: that size never fits.
 * - `operationFails`: accepted, ends `failed` with this text, without effect.
 * - `operationNeverEnds`: accepted, and stays in progress until `finishOperation`.
 * - `operationForgotten`: accepted and carried out, but asking for the operation answers 404.
 * - `noEffect`: accepted and reported done, but nothing has changed.
 * - `delay`: accepted; takes effect so much later.
 * - `blackHole`: no answer at all, nothing done.
 * - `answerLost`: carried out, and the connection is cut instead of an answer.
 */
export type FaultEffect =
  | {
      readonly kind: 'status'
      readonly status: number
      readonly code?: string
      readonly message?: string
      readonly retryAfterSeconds?: number
    }
  | { readonly kind: 'operationFails'; readonly message: string }
  | { readonly kind: 'delay'; readonly ms: number }
  | {
      readonly kind:
        | 'capacity'
        | 'operationNeverEnds'
        | 'operationForgotten'
        | 'noEffect'
        | 'blackHole'
        | 'answerLost'
    }

/** Which requests are meant. What is left out matches everything. */
export interface RequestMatch {
  readonly call?: CallName
  /** Name or id. */
  readonly machine?: string
  /** The offering asked for by `setOffering`, the machine's own in every other call. */
  readonly offering?: string
}

export interface Fault extends RequestMatch {
  readonly effect: FaultEffect
  /** How many requests it hits; null: all, until it is cleared. */
  readonly count: number | null
}

/** Scripted faults in the order they were added; the first that matches is used. */
export class FaultList {
  #faults: { fault: Fault; left: number }[] = []

  add(fault: Fault): void {
    this.#faults.push({ fault, left: fault.count ?? Number.POSITIVE_INFINITY })
  }

  /** The faults not used up, with the count still left. */
  list(): Fault[] {
    return this.#faults.map(({ fault, left }) => ({ ...fault, count: Number.isFinite(left) ? left : null }))
  }

  clear(): void {
    this.#faults = []
  }

  /** The fault this request runs into, counted down; null when it meets none. */
  take(request: LoggedRequest): FaultEffect | null {
    const entry = this.#faults.find(({ fault }) => matches(fault, request))
    if (entry === undefined) return null
    entry.left -= 1
    if (entry.left <= 0) this.#faults = this.#faults.filter((other) => other !== entry)
    return entry.fault.effect
  }
}

/** Is this one of the requests that are meant? */
export function matches(match: RequestMatch, request: LoggedRequest): boolean {
  if (match.call !== undefined && match.call !== request.call) return false
  if (match.offering !== undefined && match.offering !== request.offering) return false
  return (
    match.machine === undefined || match.machine === request.machine || match.machine === request.machineId
  )
}
