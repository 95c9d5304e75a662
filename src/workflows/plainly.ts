import { ActivityFailure, ApplicationFailure } from '@temporalio/common'
import { isCancellation } from '@temporalio/workflow'
import { failedOf } from '../api/failures.js'

/**
 * Fails a workflow with the sentence of the step that failed, not with Temporal's "Activity task failed" around it: the
 * sentence is what the CLI and the Web UI show first.
 */
export async function plainly<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error
    const { type, message } = failedOf(error, error.activityType)
    const details = error.cause instanceof ApplicationFailure ? (error.cause.details ?? []) : []
    throw ApplicationFailure.create({ type, message, nonRetryable: true, details: [...details] })
  }
}
