import type { RolloutId } from '../api/activities.js'
import type { Failed } from '../api/failures.js'
import type { RolloutSpec } from '../core/spec.js'
import type { Control } from './control.js'
import type { Strategy } from './strategies/strategy.js'

/** The first thing that went wrong in a batch, and what became of its node. */
export interface BatchFailure extends Failed {
  readonly node: string
  readonly step: string
  /** `untouched`: nothing was written. `putBack`: as found (K1). `asBefore`, `failed`: after an act (K2). `unmarked`: as `failed`, but nobody could write that. `givenBack`: done, but too late (CKS-19). `quarantined`: never drained. */
  readonly outcome:
    | 'untouched'
    | 'putBack'
    | 'asBefore'
    | 'failed'
    | 'unmarked'
    | 'givenBack'
    | 'left'
    | 'quarantined'
  readonly machine: string | null
}

export interface BatchContext {
  readonly spec: RolloutSpec
  readonly rollout: RolloutId
  readonly control: Control
  readonly strategy: Strategy
}

export function secondsLeft(deadlineMs: number): number {
  return (deadlineMs - Date.now()) / 1000
}
