import { ActivityFailure, ApplicationFailure } from '@temporalio/common'
import { CancellationScope, uuid4 } from '@temporalio/workflow'
import type { NodeJob, Undone } from '../api/activities.js'
import { type Failed, failedOf } from '../api/failures.js'
import { type Batch, batchNodeName } from '../core/batch.js'
import { type Step, sayBatch, sayReasons } from '../core/progress.js'
import { type BatchContext, type BatchFailure, secondsLeft } from './batch-context.js'
import { naming, StepFailed } from './drain-job.js'
import { drainAll } from './quarantine.js'
import { actAll } from './roll-node.js'
import { SHORT_SECONDS, SLACK_SECONDS, step } from './steps.js'
import { type Interruption, interruptible } from './together.js'

export type BatchEnd =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly failures: readonly BatchFailure[] }
  /** Broken off before any act; its nodes were put back. */
  | { readonly kind: 'cancelled'; readonly natively: boolean }

/**
 * One batch: preflight → mark and cordon → drain → (barrier) → act → verify → give back. Up to the barrier it can be
 * undone at any moment (K1); after it, what is begun is finished (K2, K3).
 */
export async function rollBatch(batch: Batch, context: BatchContext): Promise<BatchEnd> {
  const { spec, rollout, control } = context
  const deadlineMs = Date.now() + spec.limits.batchSeconds * 1000
  const token = uuid4()
  const common = { target: spec.target, rollout, token }
  let jobs: NodeJob[] = batch.nodes.map((node) => ({ ...common, node, baseline: NOTHING_FOUND }))
  let drained: readonly NodeJob[] = []
  let drainsBegun = false
  const outer = CancellationScope.current()
  control.begin(batch)

  const prepared = await interruptible(
    async () => {
      await preflight(batch, context)
      jobs = await cordon(batch, jobs, context)
      drainsBegun = jobs.some((job) => job.node.how === 'roll')
      drained = await drainAll(jobs, context, deadlineMs)
    },
    {
      milliseconds: deadlineMs - Date.now(),
      summary: `limit of batch ${control.batchNumber}`,
      cancelNow: () => control.cancelledNow,
    },
  )
  // ── barrier: every drain of the batch has succeeded or its node is in quarantine, enough of the limit is left ──
  if (prepared.kind === 'ended' && canStillAct(drained, deadlineMs, context)) {
    const natively = () => outer.consideredCancelled
    const { failures, turnedAway } = await CancellationScope.nonCancellable(() =>
      actAll(drained, { ...context, deadlineMs }, () => control.cancelledNow || natively()),
    )
    if (failures.length > 0) return { kind: 'failed', failures }
    return turnedAway
      ? { kind: 'cancelled', natively: natively() && !control.cancelledNow }
      : { kind: 'done' }
  }
  const cause = whyBroken(prepared, batch, context)
  const undone = await CancellationScope.nonCancellable(() => putBack(jobs, context, token))
  if (cause === 'cancelNow' || cause === 'cancelled') {
    const what = undone ? 'put back' : 'not every node could be put back'
    if (drainsBegun) control.warn([`${sayBatch(batch)}: ${what}, evicted pods stay where they are now`])
    return { kind: 'cancelled', natively: cause === 'cancelled' }
  }
  const outcome = cause.step === 'preflight' ? 'untouched' : undone ? 'putBack' : 'left'
  return { kind: 'failed', failures: [{ ...cause, outcome, machine: null }] }
}

const NOTHING_FOUND: NodeJob['baseline'] = {
  bootId: null,
  uid: null,
  ephemeralStorageKiB: null,
  cordonedByOthers: false,
  foundMarked: false,
  expectNewBoot: true,
}

async function preflight(batch: Batch, { spec, rollout, control }: BatchContext): Promise<void> {
  const budgetSeconds = spec.limits.preflightSeconds + SLACK_SECONDS
  await naming(batch, 'preflight', () =>
    step(
      'preflightBatch',
      { summary: sayBatch(batch), budgetSeconds },
      { spec, rollout, batch, position: control.position },
    ),
  )
  // What preflight waited for is there now.
  control.enter('rolling')
}

/** Marks and cordons all nodes; those with nothing left to do drop out. */
async function cordon(batch: Batch, jobs: readonly NodeJob[], context: BatchContext): Promise<NodeJob[]> {
  const { spec, rollout, control } = context
  for (const job of jobs) control.step(job, 'cordon')
  const token = jobs[0]?.token ?? ''
  const cordoned = await naming(batch, 'cordon', () =>
    step(
      'cordonNodes',
      { summary: sayBatch(batch), budgetSeconds: SHORT_SECONDS },
      { target: spec.target, rollout, batch, token },
    ),
  )
  const ready: NodeJob[] = []
  for (const job of jobs) {
    const found = cordoned.find((one) => one.machineId === job.node.machineId)
    if (found?.kind === 'cordoned') ready.push({ ...job, baseline: found.baseline })
    else control.step(job, found?.kind === 'startedMeanwhile' ? 'left' : 'done')
  }
  return ready
}

/** CKS-19: no machine is stopped with less than the reserve left. Starting one takes nothing away. */
function canStillAct(jobs: readonly NodeJob[], deadlineMs: number, { spec, control }: BatchContext): boolean {
  if (control.cancelledNow) return false
  const stops = jobs.some((job) => job.node.how === 'roll')
  return !stops || secondsLeft(deadlineMs) >= spec.limits.changeReserveSeconds
}

type Cause = (Failed & { readonly node: string; readonly step: string }) | Exclude<Interruption, 'deadline'>

function whyBroken(
  prepared: Awaited<ReturnType<typeof interruptible<void>>>,
  batch: Batch,
  { spec, control }: BatchContext,
): Cause {
  const names = sayBatch(batch)
  if (prepared.kind === 'failed') {
    const {
      node,
      step: at,
      cause,
    } = prepared.error instanceof StepFailed
      ? prepared.error
      : { node: names, step: 'drain', cause: prepared.error }
    return { node, step: at, ...failedOf(cause, `${at} of ${node}`) }
  }
  if (prepared.kind === 'interrupted' && prepared.why !== 'deadline') return prepared.why
  if (control.cancelledNow) return 'cancelNow'
  const { batchSeconds, changeReserveSeconds } = spec.limits
  const limit = `the batch's ${batchSeconds} s`
  const failed = { node: names, type: 'BatchTimedOut' as const }
  if (prepared.kind !== 'interrupted') {
    const message = `${names} was not stopped: less than ${changeReserveSeconds} s of ${limit} were left`
    return { ...failed, step: 'drain', message }
  }
  const { step: at, waitsFor } = control.heldUp()
  const what = at === 'preflight' ? 'did not get through preflight' : 'was not drained'
  const why = waitsFor.length === 0 ? '' : `: ${sayReasons(waitsFor)}`
  return { ...failed, step: at, message: `${names} ${what} within ${limit}${why}` }
}

const STEP_OF_UNDONE: Record<Undone['kind'], Step> = {
  restored: 'putBack',
  quarantined: 'quarantined',
  acted: 'left',
  left: 'left',
}

/** K1. False when not every node could be put back: release goes on with it. */
async function putBack(
  jobs: readonly NodeJob[],
  { spec, rollout, control }: BatchContext,
  token: string,
): Promise<boolean> {
  if (jobs.length === 0) return true
  const summary = jobs.map((job) => batchNodeName(job.node)).join(', ')
  try {
    const undone = await step(
      'undoNodes',
      { summary, budgetSeconds: SHORT_SECONDS },
      { target: spec.target, rollout, token, jobs },
    )
    for (const job of jobs) {
      const found = undone.find((one) => one.machineId === job.node.machineId)
      control.step(job, STEP_OF_UNDONE[found?.kind ?? 'left'])
    }
    return undone.every((one) => one.kind === 'restored' || one.kind === 'quarantined')
  } catch (error) {
    if (!(error instanceof ActivityFailure || error instanceof ApplicationFailure)) throw error
    control.warn([failedOf(error, `putting back ${summary}`).message])
    return false
  }
}
