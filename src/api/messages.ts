import { defineSearchAttributeKey } from '@temporalio/common'
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow'
import type { Progress } from '../core/progress.js'
import type { PlanReport } from './activities.js'

/** `{ "now": true }` also undoes a batch that has not yet acted; `by` says who, for lastError. */
export interface CancelRequest {
  readonly now?: boolean
  readonly by?: string
}

/** Stops between two batches (CKS-20). */
export const cancelSignal = defineSignal<[CancelRequest?]>('cancel')
/** Takes effect between two batches; keeps the Lease. */
export const pauseSignal = defineSignal('pause')
export const resumeSignal = defineSignal('resume')
/** From a step that waits, so that `progress` can say for what. Not for people. */
export const waitingSignal = defineSignal<[{ subject: string; why: readonly string[] }]>('waiting')

export const progressQuery = defineQuery<Progress>('progress')
/** The batches still to come, as planned when the rollout began; null before that and for a rollout that only stores. */
export const planQuery = defineQuery<PlanReport | null>('plan')

export interface SetMaxUnavailable {
  /** Every worker pool when left out. */
  readonly pool?: string
  /** An integer of at least 1, or a percentage such as `25%`. */
  readonly maxUnavailable: number | string
}

/** Takes effect with the next batch. Answers what is in force, clamps included. */
export const setMaxUnavailableUpdate = defineUpdate<{ readonly inForce: string }, [SetMaxUnavailable]>(
  'setMaxUnavailable',
)

export const SEARCH_ATTRIBUTES = {
  cluster: defineSearchAttributeKey('NoderollCluster', 'KEYWORD'),
  phase: defineSearchAttributeKey('NoderollPhase', 'KEYWORD'),
} as const
