import { ActivityFailure } from '@temporalio/common'
import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow'
import type { RolloutId } from '../api/activities.js'
import { failedOf, failure } from '../api/failures.js'
import { TAKEOVER_SECONDS } from '../api/timing.js'
import type { RolloutSpec, Target } from '../core/spec.js'
import { SHORT_SECONDS, step } from './steps.js'

const SHORT = { budgetSeconds: SHORT_SECONDS }

/**
 * Check → Lease → Updating → check again, now under the Lease → store. What is refused is undone in reverse (CKS-07), and
 * a refusal before the Lease has written nothing at all.
 */
export async function begin(spec: RolloutSpec, rollout: RolloutId): Promise<void> {
  const { target } = spec
  const summary = target.cluster
  await step(
    'checkSettings',
    { ...SHORT, summary: `${summary}, before anything is written` },
    { spec, rollout },
  )
  try {
    const { tookOver } = await step('takeLease', { ...SHORT, summary }, { target, rollout, takeOver: null })
    if (spec.rollout)
      await step('beginRollout', { ...SHORT, summary: `${summary} → Updating` }, { spec, rollout })
    await step('checkSettings', { ...SHORT, summary: `${summary}, under the Lease` }, { spec, rollout })
    // What is being stored stays stored, whoever cancels meanwhile: the rollout then ends before its first batch (CKS-20).
    await CancellationScope.nonCancellable(async () => {
      await step('storeSettings', { ...SHORT, summary }, { spec, rollout })
      if (spec.rollout && tookOver) await afterTakeover()
    })
  } catch (error) {
    await putBack(spec, rollout, error)
    throw error
  }
}

/** A refusal that could not be undone is still that refusal; what is left behind is said with it. */
async function putBack(spec: RolloutSpec, rollout: RolloutId, refusal: unknown): Promise<void> {
  try {
    await letGo(spec.target, rollout, { putBack: true, seconds: spec.limits.releaseSeconds })
  } catch (error) {
    if (!(error instanceof ActivityFailure) || isCancellation(refusal)) throw error
    const { type, message } = failedOf(refusal, 'begin')
    const left = failedOf(error, 'letting go').message
    throw failure(type, `${message}. What it had written could not be put back (${left}): run releaseCluster`)
  }
}

/** Frees the Lease of a rollout that touches no node; `putBack` restores the record when it was refused. */
export async function letGo(
  target: Target,
  rollout: RolloutId,
  {
    putBack = false,
    seconds = SHORT_SECONDS,
  }: { readonly putBack?: boolean; readonly seconds?: number } = {},
): Promise<void> {
  const summary = putBack ? 'put back as found' : 'no node was touched'
  await CancellationScope.nonCancellable(() =>
    step('letGo', { summary, budgetSeconds: seconds }, { target, rollout, putBack }),
  )
}

/** Whatever the old holder had under way has either ended by now or may send nothing more. */
export async function afterTakeover(): Promise<void> {
  await sleep(TAKEOVER_SECONDS * 1000, { summary: 'an attempt of the former holder may still be alive' })
}
