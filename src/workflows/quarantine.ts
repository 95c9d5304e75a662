import { ActivityFailure } from '@temporalio/common'
import { isCancellation } from '@temporalio/workflow'
import type { NodeJob } from '../api/activities.js'
import { type Failed, failedOf, failure } from '../api/failures.js'
import { batchNodeName } from '../core/batch.js'
import { sayNames } from '../core/progress.js'
import { type BatchContext, secondsLeft } from './batch-context.js'
import { drain, StepFailed } from './drain-job.js'
import { SHORT_SECONDS, step } from './steps.js'
import { together } from './together.js'

/** Of the reserve, on top of it: to put a node in quarantine takes a while, too, and less than the reserve acts on nobody. */
const QUARANTINE_SHARE = 0.1

type DrainContext = Omit<BatchContext, 'strategy'>

/**
 * Drains every node of a batch. With `onBlocked: quarantine` a worker whose drain cannot end drops out and its siblings
 * go on; any other failure calls all of them off. Gives the jobs that are drained.
 */
export async function drainAll(
  jobs: readonly NodeJob[],
  context: DrainContext,
  deadlineMs: number,
): Promise<NodeJob[]> {
  const { drain: policy, limits } = context.spec
  const kept = policy.onBlocked === 'quarantine' ? limits.changeReserveSeconds * (1 + QUARANTINE_SHARE) : 0
  // A blocked drain ends early enough for its siblings to be acted on, where there is time for any of them.
  const secondsToDrain = () => {
    const left = secondsLeft(deadlineMs)
    return left > kept ? left - kept : left
  }
  const drained = await together(
    jobs.map((job) => async () => {
      try {
        await drain(job, context, secondsToDrain())
        return [job]
      } catch (error) {
        if (!(error instanceof StepFailed)) throw error
        const failed = failedOf(error.cause, `${error.step} of ${error.node}`)
        const why = await whyNoQuarantine(job, failed, context)
        if (why === null) return []
        if (why === '') throw error
        throw new StepFailed(error.node, error.step, failure(failed.type, `${failed.message}; ${why}`))
      }
    }),
  )
  return drained.flat()
}

/** Null when the node is in quarantine now; else why it is not, empty where nobody asked for it. */
export async function whyNoQuarantine(
  job: NodeJob,
  failed: Failed,
  { spec, control }: DrainContext,
): Promise<string | null> {
  const isBlocked = failed.type === 'DrainBlocked' || failed.type === 'DrainRefused'
  if (spec.drain.onBlocked !== 'quarantine' || job.node.type !== 'worker' || !isBlocked) return ''
  const name = batchNodeName(job.node)
  const limit = spec.drain.quarantineLimit
  try {
    // One after another: two at once would both find the last free place.
    const answer = await control.inTurn(() =>
      step(
        'quarantineNode',
        { summary: name, budgetSeconds: SHORT_SECONDS },
        { ...job, reason: failed.message, limit },
      ),
    )
    if (answer.kind === 'quarantined') {
      control.quarantine(job, failed.message)
      return null
    }
    return answer.kind === 'full'
      ? `${sayNames(answer.others)} ${answer.others.length === 1 ? 'is' : 'are'} in quarantine already (drain.quarantineLimit ${limit})`
      : `it could not be put in quarantine: ${answer.why}`
  } catch (error) {
    if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error
    return `it could not be put in quarantine: ${failedOf(error, `quarantine of ${name}`).message}`
  }
}
