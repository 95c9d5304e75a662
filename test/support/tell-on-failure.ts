import type { WorkflowHandle } from '@temporalio/client'
import { onTestFailed } from 'vitest'
import { stepsOf } from './batch-history.js'

const TOLD = 3

/** A test that times out says no more than that: which steps of this workflow took longest is told beside it. */
export function tellOnFailure(handle: WorkflowHandle): void {
  onTestFailed(async () => {
    const steps = (await stepsOf(handle)).sort((a, b) => b.seconds - a.seconds).slice(0, TOLD)
    const told = steps.map(
      ({ name, seconds, hasEnded }) => `${name} ${seconds.toFixed(1)} s${hasEnded ? '' : ' without an end'}`,
    )
    throw new Error(`the longest steps of ${handle.workflowId}: ${told.join(', ') || 'it had none'}`)
  })
}
