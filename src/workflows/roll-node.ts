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

interface NodeContext extends BatchContext {
  readonly deadlineMs: number
}

/** Acts on every node of a drained batch and finishes what was begun. Gives the failures; empty when all are back (K3). */
export async function actAll(jobs: readonly NodeJob[], context: NodeContext): Promise<BatchFailure[]> {
  const failures: BatchFailure[] = []
  await Promise.all(
    jobs.map(async (job) => {
      const failure = await rollNode(job, context, () => failures.length === 0)
      if (failure !== null) failures.push(failure)
    }),
  )
  // The one that made the others stop comes first; nodes that were merely not begun add nothing.
  return failures.filter((failure, index) => index === 0 || failure.outcome !== 'putBack')
}

async function rollNode(
  job: NodeJob,
  context: NodeContext,
  mayBegin: () => boolean,
): Promise<BatchFailure | null> {
  const { spec, control, strategy, deadlineMs } = context
  const acting: ActContext = {
    spec,
    enter: (of, at) => control.step(of, at),
    secondsToBegin: () => secondsLeft(deadlineMs) - spec.limits.changeReserveSeconds,
    mayBegin,
    drainAgain: (of) => drain(of, context, secondsLeft(deadlineMs)),
  }
  const acted = job.node.how === 'return' ? { kind: 'done' as const } : await strategy.act(job, acting)
  if (acted.kind === 'failed') {
    // Pods came after the drain and will not go: nothing has been done to the machine yet.
    if (acted.begun !== 'yes' && (await whyNoQuarantine(job, acted.failed, context)) === null) return null
    const outcome = acted.begun === 'yes' ? null : await putBack(job, context, acted.begun)
    if (outcome !== null) return say(job, acted.step, acted.failed, outcome, null)
    return settleNode(job, context, acting, acted.step, acted.failed)
  }
  const failed = await verify(job, context, job.node.wants)
  if (failed === null) {
    control.step(job, 'done')
    // After an accepted stop the limit interrupts nothing; passed meanwhile, it makes the result failed (CKS-19).
    return secondsLeft(deadlineMs) >= 0 ? null : overdue(job, context)
  }
  return settleNode(job, context, acting, 'verify', failed)
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
    control.step(job, 'putBack')
    return undone?.kind === 'restored' || undone?.kind === 'quarantined' ? 'putBack' : 'left'
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
  return say(job, at, both, 'failed', await markFailed(job, context, at, both))
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
): Promise<string> {
  const name = batchNodeName(job.node)
  control.step(job, 'failed')
  try {
    // As long as release would try: a node without its failure mark is one nobody knows about.
    const budgetSeconds = spec.limits.releaseSeconds
    const marked = await step(
      'failNode',
      { summary: `${name}: ${at}`, budgetSeconds },
      { ...job, step: at, reason: failed.message },
    )
    return marked.machine
  } catch (error) {
    return `of unknown state (${failedOf(error, `marking ${name}`).message})`
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
