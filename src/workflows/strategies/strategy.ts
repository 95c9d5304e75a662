import type { NodeJob } from '../../api/activities.js'
import type { Failed } from '../../api/failures.js'
import type { Step } from '../../core/progress.js'
import type { RolloutSpec } from '../../core/spec.js'

/** How an act ended. Failures are data here: what comes next depends on whether anything was begun. */
export type Acted =
  | { readonly kind: 'done' }
  /** Nothing was begun, as nothing new may be begun any more (`mayBegin`). */
  | { readonly kind: 'turnedAway' }
  | {
      readonly kind: 'failed'
      readonly begun: 'no' | 'yes' | 'unknown'
      readonly step: Step
      readonly failed: Failed
    }

/** The state a failed node could be brought to (K2). */
export type Settled =
  /** Running with what it had before; a verify against `was` decides whether it is given back. */
  { readonly kind: 'asBefore' } | { readonly kind: 'broken'; readonly why: string }

/** What a strategy is given besides the node. */
export interface ActContext {
  readonly spec: RolloutSpec
  /** Shown in progress. */
  enter(job: NodeJob, step: Step): void
  /** Seconds after which this batch may stop no machine any more (CKS-19); not positive: none. */
  secondsToBegin(): number
  /** False once another node of the batch has failed, or a cancel came that does not wait: nothing new is begun then. */
  mayBegin(): boolean
  /** Drains again when pods came after the drain (B03), for as long as anything may be begun. Throws what the drain throws. */
  drainAgain(job: NodeJob): Promise<void>
}

/**
 * What is done to a node between its drain and its verify. `restart` is built; docs/adr says how `replace` and `services`
 * fit. Called outside any cancellation: what is begun is finished.
 */
export interface Strategy {
  act(job: NodeJob, context: ActContext): Promise<Acted>
  settle(job: NodeJob, context: ActContext): Promise<Settled>
}
