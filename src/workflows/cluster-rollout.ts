import { TemporalFailure } from '@temporalio/common'
import {
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  isCancellation,
  workflowInfo,
} from '@temporalio/workflow'
import type { Released, RolloutId } from '../api/activities.js'
import { failedOf } from '../api/failures.js'
import type { RolloutResult } from '../api/results.js'
import type { NextBatch } from '../core/next-batch.js'
import { skippedIn } from '../core/progress.js'
import type { RolloutSpec } from '../core/spec.js'
import { begin, letGo } from './begin.js'
import { type Carried, Control } from './control.js'
import { type Ending, lastErrorOf, notReleased, resultOf, rolloutFailure } from './outcome.js'
import { plainly } from './plainly.js'
import { rollBatch } from './roll-batch.js'
import { SHORT_SECONDS, SLACK_SECONDS, step } from './steps.js'
import { restart } from './strategies/restart.js'

/** What the next run starts from. */
interface NextRun extends Carried {
  readonly spec: RolloutSpec
  readonly searchAttributes: boolean
}

/**
 * Rolls the nodes of one cluster. Input: the spec (docs/spec.md). Ends with a `RolloutResult`; a refusal or a failure is a
 * failed workflow whose type is one of `FailureType`, a native cancellation ends it as cancelled.
 */
export function clusterRollout(request: unknown, next?: NextRun): Promise<RolloutResult> {
  return plainly(() => roll(request, next))
}

async function roll(request: unknown, next?: NextRun): Promise<RolloutResult> {
  let spec = next?.spec
  const control = new Control(() => spec?.target.cluster ?? clusterIn(request), next ?? null)
  const rollout: RolloutId = {
    workflowId: workflowInfo().workflowId,
    firstRunId: workflowInfo().firstExecutionRunId,
  }
  let searchAttributes = next?.searchAttributes ?? false
  if (spec === undefined) {
    const checked = await step(
      'checkSpec',
      { summary: 'the spec', budgetSeconds: SHORT_SECONDS },
      { spec: request },
    )
    spec = checked.spec
    searchAttributes = checked.searchAttributes
    control.useSearchAttributes(searchAttributes)
    await beginning(spec, rollout, control)
    if (!spec.rollout) return stored(spec, rollout, control)
  } else {
    control.useSearchAttributes(searchAttributes)
  }
  const known = spec
  const goOn = async () => {
    await condition(allHandlersFinished)
    await continueAsNew<typeof clusterRollout>(null, { ...control.carried(), spec: known, searchAttributes })
  }
  const ending = await rollBatches(known, rollout, control, goOn)
  const released = await releasing(known, rollout, control, ending)
  await CancellationScope.nonCancellable(() => condition(allHandlersFinished))
  const result = resultOf(known.target.cluster, ending, control, 'why' in released ? null : released)
  if (ending.kind === 'failed') throw rolloutFailure(result, ending.failures, skippedIn(control.view))
  if ('why' in released) throw notReleased(result, released.why)
  if (ending.kind === 'cancelled' && ending.natively)
    throw new CancelledFailure('Rollout cancelled and released', [result])
  return result
}

/** A refused rollout has ended as well: who looks at it, or has asked it something, is told so. */
async function beginning(spec: RolloutSpec, rollout: RolloutId, control: Control): Promise<void> {
  try {
    await begin(spec, rollout)
  } catch (error) {
    if (!(error instanceof TemporalFailure)) throw error
    control.lastError = failedOf(error, 'the begin').message
    control.enter('ended')
    await CancellationScope.nonCancellable(() => condition(allHandlersFinished))
    throw error
  }
}

/**
 * Events of a run after which the next batch begins in another one. Temporal suggests it at 4,096, and the largest batch
 * adds a thousand: a run would pass 5,000, beyond which the Web UI and replays get slow.
 */
const LONG_HISTORY = 3_500

function isLong(info: { readonly continueAsNewSuggested: boolean; readonly historyLength: number }): boolean {
  return info.continueAsNewSuggested || info.historyLength > LONG_HISTORY
}

/** Batch after batch until nothing is left, something fails, or somebody stops it. */
async function rollBatches(
  spec: RolloutSpec,
  rollout: RolloutId,
  control: Control,
  goOn: () => Promise<void>,
): Promise<Ending> {
  const summary = (what: string) => ({
    summary: what,
    budgetSeconds: spec.limits.preflightSeconds + SLACK_SECONDS,
  })
  try {
    control.plan ??= await step('readPlan', summary('the whole rollout'), { spec })
    // Plans in histories of before have none.
    control.warn(control.plan.warnings ?? [])
    for (;;) {
      if (!(await control.mayGoOn())) return { kind: 'cancelled', natively: false }
      if (isLong(workflowInfo())) await goOn()
      control.enter('waiting')
      const { position } = control
      const next = await step('nextBatch', summary(`after ${control.done.count} nodes`), {
        spec,
        rollout,
        position,
      })
      control.look(next.view)
      if (next.kind !== 'batch') return endOfBatches(next)
      // What came while the batch was chosen still comes before it: a cancel, a pause (CKS-20), another size of batches.
      if (control.paused || control.cancel.kind !== 'no' || control.position !== position) continue
      if (next.batch.again) control.tryAgain(next.batch)
      const end = await rollBatch(next.batch, { spec, rollout, control, strategy: restart })
      if (end.kind !== 'done') return end
    }
  } catch (error) {
    // Anything else is continue-as-new, or a bug that a fixed worker will get over by replaying.
    if (!(error instanceof TemporalFailure)) throw error
    if (isCancellation(error)) return { kind: 'cancelled', natively: true }
    const failed = failedOf(error, 'the next batch')
    return {
      kind: 'failed',
      failures: [{ ...failed, node: spec.target.cluster, step: 'plan', outcome: 'untouched', machine: null }],
    }
  }
}

/** Nothing is left but what could not be drained twice: then the rollout has failed, though everything else is done. */
function endOfBatches(last: Exclude<NextBatch, { readonly kind: 'batch' }>): Ending {
  const blocked = last.kind === 'done' ? (last.blocked ?? []) : []
  if (blocked.length === 0) return { kind: 'done' }
  const failures = blocked.map(({ name, why }) => ({
    node: name,
    step: 'drain',
    type: 'DrainBlocked' as const,
    message: `${name} is ${why}`,
    outcome: 'quarantined' as const,
    machine: null,
  }))
  return { kind: 'failed', failures }
}

/** The one end of every rollout; a second cancel does not reach it. */
async function releasing(
  spec: RolloutSpec,
  rollout: RolloutId,
  control: Control,
  ending: Ending,
): Promise<Released | { readonly why: string }> {
  control.lastError = lastErrorOf(ending, control)
  control.enter('releasing')
  const outcome = { lastError: control.lastError, clearLastError: ending.kind === 'done' }
  try {
    return await CancellationScope.nonCancellable(() =>
      step(
        'release',
        { summary: ending.kind, budgetSeconds: spec.limits.releaseSeconds },
        { target: spec.target, rollout, outcome },
      ),
    )
  } catch (error) {
    const { message } = failedOf(error, 'release')
    control.warn([`release did not end: ${message}; run releaseCluster when the cluster answers again`])
    return { why: message }
  } finally {
    control.enter('ended')
  }
}

async function stored(spec: RolloutSpec, rollout: RolloutId, control: Control): Promise<RolloutResult> {
  await letGo(spec.target, rollout, { seconds: spec.limits.releaseSeconds })
  const report = await answerOfStored(spec, rollout, control)
  control.enter('ended')
  await condition(allHandlersFinished)
  return { ...resultOf(spec.target.cluster, { kind: 'done' }, control, report), outcome: 'stored' }
}

/** The settings are stored, whether or not anybody can say how many machines they make out of date. */
async function answerOfStored(
  spec: RolloutSpec,
  rollout: RolloutId,
  control: Control,
): Promise<Released | null> {
  try {
    const options = { summary: 'the answer', budgetSeconds: SHORT_SECONDS }
    const { report } = await step('lookForRelease', options, { target: spec.target, rollout })
    return report
  } catch (error) {
    if (isCancellation(error)) throw error
    control.warn([`the settings are stored; ${failedOf(error, 'counting what is out of date').message}`])
    return null
  }
}

/** The name to show before the spec is checked. */
function clusterIn(request: unknown): string {
  const named =
    typeof request === 'object' && request !== null && 'cluster' in request ? request.cluster : null
  return typeof named === 'string' ? named.slice(0, 63) : 'a cluster'
}
