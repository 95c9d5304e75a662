import { ApplicationFailure } from '@temporalio/common'
import type { Released } from '../api/activities.js'
import type { FailureType } from '../api/failures.js'
import type { FailedNode, RolloutResult } from '../api/results.js'
import { bounded, sayNames, skippedIn } from '../core/progress.js'
import type { BatchFailure } from './batch-context.js'
import type { Control } from './control.js'

/** How the batches of a rollout ended. */
export type Ending =
  | { readonly kind: 'done' }
  | { readonly kind: 'cancelled'; readonly natively: boolean }
  | { readonly kind: 'failed'; readonly failures: readonly BatchFailure[] }

/** lastError at the end (CKS-21, CKS-25): why it stopped, and which nodes were skipped; null clears it. */
export function lastErrorOf(ending: Ending, control: Control): string | null {
  const skipped = control.view.skipped.map((skip) => `${skip.name} (${skip.why})`)
  const named = ending.kind === 'failed' ? ending.failures.map((failure) => failure.node) : []
  const quarantined = (control.view.quarantined ?? [])
    .filter(({ name }) => !named.includes(name))
    .map(({ name, why }) => `${name} (${why})`)
  const skips = [
    ...(skipped.length === 0 ? [] : [`skipped: ${sayNames(skipped, 10, skippedIn(control.view))}`]),
    ...(quarantined.length === 0 ? [] : [`left in quarantine: ${sayNames(quarantined, 10)}`]),
  ]
  switch (ending.kind) {
    case 'done':
      return skips.length === 0 ? null : skips.join('. ')
    case 'cancelled': {
      const by = ending.natively ? "Temporal's cancel" : (control.cancel.by ?? 'the signal cancel')
      return [`cancelled by ${by} at ${control.cancel.at ?? new Date().toISOString()}`, ...skips].join('. ')
    }
    case 'failed':
      return [sayFailures(ending.failures), ...skips].join('. ')
    default:
      return ending satisfies never
  }
}

/** The result; `released` is null when release could not be finished. */
export function resultOf(
  cluster: string,
  ending: Ending,
  control: Control,
  released: Released | null,
): RolloutResult {
  return {
    cluster,
    outcome: ending.kind,
    state: released?.state ?? null,
    done: control.done,
    skipped: bounded(control.view.skipped),
    failed: ending.kind === 'failed' ? bounded(ending.failures.map(failedNode)) : [],
    leftCordoned: released?.leftCordoned ?? [],
    pools: released?.pools ?? control.view.counts.map((counts) => ({ ...counts, settings: null })),
    warnings: bounded(control.warnings),
    capacity: released?.capacity ?? null,
    lastError: released?.lastError ?? lastErrorOf(ending, control),
  }
}

/** The failed workflow: one sentence a person can act on, and the whole result as its details. */
export function rolloutFailure(
  result: RolloutResult,
  failures: readonly BatchFailure[],
  skippedCount: number,
): ApplicationFailure {
  const left = result.pools
    .filter((pool) => pool.outOfDate > 0)
    .map((pool) => `${pool.outOfDate} in ${pool.pool}`)
  const message = [
    `Rollout of ${result.cluster} stopped after ${result.done.count} nodes: ${sayFailures(failures)}`,
    `Still out of date: ${left.length === 0 ? 'none' : left.join(', ')}`,
    ...(result.skipped.length === 0
      ? []
      : [
          `Skipped: ${sayNames(
            result.skipped.map((skip) => skip.name),
            10,
            skippedCount,
          )}`,
        ]),
    'Mend the cause and start the rollout again: it goes on with what is left',
  ].join('. ')
  const type: FailureType = failures[0]?.type ?? 'OutcomeUnknown'
  return ApplicationFailure.create({ type, message, nonRetryable: true, details: [result] })
}

/** Nodes of one batch that a failure names one by one. */
const MOST_FAILURES = 10

function sayFailures(failures: readonly BatchFailure[]): string {
  const left = failures.length - MOST_FAILURES
  const said = failures.slice(0, MOST_FAILURES).map(sayFailure)
  return [...said, ...(left > 0 ? [`${left} more nodes failed: see the result`] : [])].join('. ')
}

/** The failed workflow of a rollout whose end could not be written: nobody may take it for one that is over. */
export function notReleased(result: RolloutResult, why: string): ApplicationFailure {
  const ended = result.outcome === 'done' ? 'is done' : 'was cancelled'
  const message =
    `Rollout of ${result.cluster} ${ended} after ${result.done.count} nodes, and its release did not end: ${trimmed(why)}. ` +
    'The Lease may still be held and nodes may still be cordoned. Mend the cause, then run releaseCluster'
  const type: FailureType = 'ReleaseIncomplete'
  return ApplicationFailure.create({ type, message, nonRetryable: true, details: [result] })
}

function failedNode(failure: BatchFailure): FailedNode {
  return {
    node: failure.node,
    step: failure.step,
    type: failure.type,
    reason: failure.message,
    outcome: sayOutcome(failure),
  }
}

function sayFailure(failure: BatchFailure): string {
  const named = failure.message.includes(failure.node)
    ? failure.message
    : `${failure.node}: ${failure.message}`
  return `${failure.step} failed: ${trimmed(named)}; ${sayOutcome(failure)}`
}

function trimmed(sentence: string): string {
  return sentence.replace(/[.\s]+$/, '')
}

function sayOutcome({ outcome, machine, step }: BatchFailure): string {
  switch (outcome) {
    case 'untouched':
      return 'no node was touched'
    case 'putBack':
      return step === 'cordon'
        ? 'its nodes were put back as found'
        : 'its nodes were put back as found, evicted pods stay where they are now'
    case 'left':
      return 'not every node could be put back, look at those that are cordoned'
    case 'asBefore':
      return 'its machine runs with the settings it had, the node is back in service'
    case 'quarantined':
      return 'the node stays cordoned in quarantine; let its pods go (their budgets, another replica) and start the rollout again'
    case 'givenBack':
      return 'its machine runs with the new settings, the node is back in service'
    case 'unmarked':
      return 'the node could not be marked as failed: the release gives it back when it is in order, and else names it'
    case 'failed':
      return `the node stays cordoned with a failure mark, its machine is ${machine ?? 'of unknown state'}`
    default:
      return outcome satisfies never
  }
}
