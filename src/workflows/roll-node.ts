import type { NodeJob } from '../api/activities.js'
import { type Failed, failedOf } from '../api/failures.js'
import { batchNodeName } from '../core/batch.js'
import type { PoolSettings } from '../core/model.js'
import type { Step } from '../core/progress.js'
import { type BatchContext, type BatchFailure, secondsLeft } from './batch-context.js'
import { drain } from './drain-job.js'
import { whyNoQuarantine } from './quarantine.js'
import { SHORT_SECONDS, SLACK_SECONDS, step } from './steps.js'
import type { ActContext } from './strategies/strategy.js'
import { breakable } from './together.js'

interface NodeContext extends BatchContext {
  readonly deadlineMs: number
}

interface ActingContext extends NodeContext {
  mayBegin(): boolean
  /** Says, as soon as it is known, that this node has failed. */
  fails(): void
}

/** What became of the nodes of a drained batch. */
export interface Finished {
  /** In the order in which they failed; empty when all are back (K3). */
  readonly failures: readonly BatchFailure[]
  /** Were nodes put back because nothing new was to be begun? */
  readonly turnedAway: boolean
}

/** Acts on every node of a drained batch and finishes what was begun. `isCancelled`: by a cancel that does not wait. */
export async function actAll(
  jobs: readonly NodeJob[],
  context: NodeContext,
  isCancelled: () => boolean,
): Promise<Finished> {
  const failing: NodeJob[] = []
  const failures = new Map<NodeJob, BatchFailure>()
  let turnedAway = false
  await Promise.all(
    jobs.map(async (job) => {
      const ended = await rollNode(job, {
        ...context,
        mayBegin: () => failing.length === 0 && !isCancelled(),
        // Known to the others at once: to bring this node to a safe state may take as long as a batch.
        fails: () => failing.push(job),
      })
      if (ended === 'turnedAway') turnedAway = true
      else if (ended !== null) failures.set(job, ended)
    }),
  )
  return { failures: failing.flatMap((job) => failures.get(job) ?? []), turnedAway }
}

async function rollNode(job: NodeJob, context: ActingContext): Promise<BatchFailure | 'turnedAway' | null> {
  const { spec, control, strategy, deadlineMs, mayBegin } = context
  const acting: ActContext = {
    spec,
    enter: (of, at) => control.step(of, at),
    secondsToBegin: () => secondsLeft(deadlineMs) - spec.limits.changeReserveSeconds,
    mayBegin,
    drainAgain: (of) =>
      breakable(
        () => drain(of, context, secondsLeft(deadlineMs)),
        () => !mayBegin(),
      ),
  }
  const acted = job.node.how === 'return' ? { kind: 'done' as const } : await strategy.act(job, acting)
  if (acted.kind === 'turnedAway') return turnedAway(job, context)
  if (acted.kind === 'failed') {
    let { failed } = acted
    if (acted.begun !== 'yes') {
      // Pods came after the drain and will not go: nothing has been done to the machine yet.
      const why = await whyNoQuarantine(job, failed, context)
      if (why === null) return null
      if (why !== '') failed = { ...failed, message: `${failed.message}; ${why}` }
    }
    context.fails()
    const outcome = acted.begun === 'yes' ? null : await putBack(job, context, acted.begun)
    if (outcome !== null) return say(job, acted.step, failed, outcome, null)
    return settleNode(job, context, acting, acted.step, failed)
  }
  const failed = await verify(job, context, job.node.wants)
  if (failed !== null) {
    context.fails()
    return settleNode(job, context, acting, 'verify', failed)
  }
  control.step(job, 'done')
  // After an accepted stop the limit interrupts nothing; passed meanwhile, it makes the result failed (CKS-19).
  if (secondsLeft(deadlineMs) >= 0) return null
  context.fails()
  return overdue(job, context)
}

/** Put back as found (K1): what it was drained for is not to be begun any more. */
async function turnedAway(job: NodeJob, context: ActingContext): Promise<BatchFailure | 'turnedAway'> {
  const outcome = await putBack(job, context, 'no')
  if (outcome === 'putBack') return 'turnedAway'
  context.fails()
  const failed = {
    type: 'ReleaseIncomplete' as const,
    message: `${batchNodeName(job.node)} was not begun, and could not be put back`,
  }
  return say(job, 'stop', failed, 'left', null)
}

/** K1, where it is certain that no act was begun; null where one was, or nobody can say. */
async function putBack(
  job: NodeJob,
  { spec, rollout, control }: NodeContext,
  begun: 'no' | 'unknown',
): Promise<'putBack' | 'left' | null> {
  const name = batchNodeName(job.node)
  try {
    const budgetSeconds = begun === 'no' ? SHORT_SECONDS : SLACK_SECONDS
    const input = { target: spec.target, rollout, token: job.token, jobs: [job] }
    const [undone] = await step('undoNodes', { summary: name, budgetSeconds }, input)
    if (undone?.kind === 'acted') return null
    const isBack = undone?.kind === 'restored' || undone?.kind === 'quarantined'
    control.step(job, isBack ? 'putBack' : 'left')
    return isBack ? 'putBack' : 'left'
  } catch (error) {
    // Still cordoned and marked without an act: release gives it back.
    control.warn([failedOf(error, `putting back ${name}`).message])
    return begun === 'no' ? 'left' : null
  }
}

/** K2: the safest state that can be reached; given back only when it is verified there. */
async function settleNode(
  job: NodeJob,
  context: NodeContext,
  acting: ActContext,
  at: Step,
  failed: Failed,
): Promise<BatchFailure> {
  const settled = await context.strategy.settle(job, acting)
  const notBack = settled.kind === 'broken' ? settled.why : await whyNotAsBefore(job, context)
  if (notBack === null) {
    context.control.step(job, 'failed')
    return say(job, at, failed, 'asBefore', null)
  }
  const both = { ...failed, message: `${failed.message}; ${notBack}` }
  const marked = await markFailed(job, context, at, both)
  return 'why' in marked
    ? say(job, at, { ...both, message: `${both.message}; ${marked.why}` }, 'unmarked', null)
    : say(job, at, both, 'failed', marked.machine)
}

async function whyNotAsBefore(job: NodeJob, context: NodeContext): Promise<string | null> {
  const failed = await verify(job, context, settingsBefore(job))
  return failed === null ? null : `started again with what it had, ${failed.message}`
}

/** What the machine had, to be verified after a fall back. A grown disk stays grown. */
function settingsBefore({ node: { was } }: NodeJob): PoolSettings {
  return { offerings: [was.offering], rootDiskGiB: null, affinityGroups: was.affinityGroups }
}

async function verify(
  job: NodeJob,
  { spec, control }: NodeContext,
  settings: PoolSettings,
): Promise<Failed | null> {
  const name = batchNodeName(job.node)
  control.step(job, 'verify')
  try {
    const budgetSeconds = spec.limits.verifySeconds + SLACK_SECONDS
    const verified = await step(
      'verifyNode',
      { summary: name, budgetSeconds },
      { ...job, limits: spec.limits, settings },
    )
    control.warn(verified.warnings)
    return null
  } catch (error) {
    return failedOf(error, `verify of ${name}`)
  }
}

async function markFailed(
  job: NodeJob,
  { spec, control }: NodeContext,
  at: Step,
  failed: Failed,
): Promise<{ readonly machine: string } | { readonly why: string }> {
  const name = batchNodeName(job.node)
  control.step(job, 'failed')
  try {
    // As long as release would try: a node without its failure mark is one nobody knows about.
    const budgetSeconds = spec.limits.releaseSeconds
    return await step(
      'failNode',
      { summary: `${name}: ${at}`, budgetSeconds },
      { ...job, step: at, reason: failed.message },
    )
  } catch (error) {
    return { why: failedOf(error, `marking ${name}`).message }
  }
}

function overdue(job: NodeJob, { spec }: NodeContext): BatchFailure {
  const message = `${batchNodeName(job.node)} is done and verified, but the batch took longer than its ${spec.limits.batchSeconds} s`
  return {
    node: batchNodeName(job.node),
    step: 'verify',
    type: 'BatchTimedOut',
    message,
    outcome: 'givenBack',
    machine: null,
  }
}

function say(
  job: NodeJob,
  at: Step,
  failed: Failed,
  outcome: BatchFailure['outcome'],
  machine: string | null,
): BatchFailure {
  return { node: batchNodeName(job.node), step: at, ...failed, outcome, machine }
}
