import type { ArmCallName } from './arm-calls.js'
import type { ArmRequest } from './arm-log.js'
import type { ArmError } from './arm-state.js'

/**
 * What goes wrong with a call.
 *
 * - `answer`: answered with this status and error, and nothing done.
 * - `operationFails`: accepted, ends `Failed` (or `Canceled`) with this error and without effect.
 * - `happensAnyway`: accepted and carried out, but the operation ends `Failed` with this error.
 * - `noEffect`: accepted and reported `Succeeded`, and nothing has changed.
 * - `neverEnds`: accepted, in progress until `finish`.
 * - `slow`: takes so much longer.
 * - `forgotten`: accepted and carried out; asking for the operation answers 404.
 * - `noAsyncHeader`: accepted and carried out, but no header tells where to ask.
 * - `answerLost`: accepted and carried out; the connection is cut instead of an answer.
 * - `cut`: the connection is cut, and nothing done.
 */
export type ArmFaultEffect =
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly error: ArmError
      readonly retryAfterSeconds?: number
    }
  | { readonly kind: 'operationFails'; readonly error: ArmError; readonly canceled?: boolean }
  | { readonly kind: 'happensAnyway'; readonly error: ArmError }
  | { readonly kind: 'slow'; readonly ms: number }
  | {
      readonly kind: 'noEffect' | 'neverEnds' | 'forgotten' | 'noAsyncHeader' | 'answerLost' | 'cut'
    }

/** Which requests are meant. What is left out matches everything. */
export interface ArmMatch {
  readonly call?: ArmCallName
  readonly vm?: string
  /** The size asked for by an update, the VM's own in every other call. */
  readonly size?: string
}

export interface ArmFault extends ArmMatch {
  readonly effect: ArmFaultEffect
  /** How many requests it hits; null: all, until it is cleared. */
  readonly count: number | null
}

/** Scripted faults in the order they were added; the first that matches is used. */
export class ArmFaults {
  #faults: { fault: ArmFault; left: number }[] = []

  add(fault: ArmFault): void {
    this.#faults.push({ fault, left: fault.count ?? Number.POSITIVE_INFINITY })
  }

  clear(): void {
    this.#faults = []
  }

  /** The fault this request runs into, counted down; null when it meets none. */
  take(request: ArmRequest): ArmFaultEffect | null {
    const entry = this.#faults.find(({ fault }) => armMatches(fault, request))
    if (entry === undefined) return null
    entry.left -= 1
    if (entry.left <= 0) this.#faults = this.#faults.filter((other) => other !== entry)
    return entry.fault.effect
  }
}

export function armMatches(match: ArmMatch, request: ArmRequest): boolean {
  if (match.call !== undefined && match.call !== request.call) return false
  if (match.size !== undefined && match.size !== request.size) return false
  return match.vm === undefined || match.vm === request.vm
}
