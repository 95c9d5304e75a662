import { ActivityFailure } from '@temporalio/common'
import type { NodeJob } from '../api/activities.js'
import { type Batch, batchNodeName } from '../core/batch.js'
import { sayBatch } from '../core/progress.js'
import type { BatchContext } from './batch-context.js'
import { SLACK_SECONDS, step } from './steps.js'

/** Nothing is drained from a machine that is off, nor from a node that came back by itself. */
export async function drain(
  job: NodeJob,
  { spec, control }: Omit<BatchContext, 'strategy'>,
  secondsLeft: number,
): Promise<void> {
  if (job.node.how !== 'roll' || job.node.node === null) return
  control.step(job, 'drain')
  const limitSeconds = Math.min(spec.drain.timeoutSeconds, secondsLeft)
  const drained = await naming(job, 'drain', () =>
    step(
      'drainNode',
      {
        summary: `${batchNodeName(job.node)} (${job.node.why})`,
        budgetSeconds: limitSeconds + SLACK_SECONDS,
      },
      { ...job, policy: spec.drain, limitSeconds },
    ),
  )
  control.warn(drained.warnings ?? [])
  control.step(job, 'drained')
}

/** A step's failure with the node it happened to. */
export class StepFailed extends Error {
  readonly node: string
  readonly step: string

  constructor(node: string, step: string, cause: unknown) {
    super(`${step} of ${node} failed`, { cause })
    this.name = 'StepFailed'
    this.node = node
    this.step = step
  }
}

/** Says which node a step failed on. A cancellation stays one. */
export async function naming<T>(of: Batch | NodeJob, at: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof ActivityFailure) || isCancelled(error)) throw error
    throw new StepFailed('nodes' in of ? sayBatch(of) : batchNodeName(of.node), at, error)
  }
}

function isCancelled(error: ActivityFailure): boolean {
  return error.cause?.name === 'CancelledFailure'
}
