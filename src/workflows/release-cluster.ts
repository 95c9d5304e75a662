import { CancellationScope, workflowInfo } from '@temporalio/workflow'
import type { Released, RolloutId } from '../api/activities.js'
import { failedOf } from '../api/failures.js'
import { afterTakeover, letGo } from './begin.js'
import { plainly } from './plainly.js'
import { SHORT_SECONDS, step } from './steps.js'

/** How long `releaseCluster` keeps trying, in seconds. */
const RELEASE_SECONDS = 24 * 3600

/**
 * `release` alone, for a cluster whose rollout was terminated (CKS-24). With `takeOver`, the holder as `ClusterBusy` printed
 * it, a person vouches that it is gone. Writes nothing when there is nothing to put right.
 */
export function releaseCluster(request: unknown): Promise<Released> {
  return plainly(() => releaseOne(request))
}

async function releaseOne(request: unknown): Promise<Released> {
  const rollout: RolloutId = {
    workflowId: workflowInfo().workflowId,
    firstRunId: workflowInfo().firstExecutionRunId,
  }
  const short = { budgetSeconds: SHORT_SECONDS }
  const { target, takeOver } = await step('checkTarget', { ...short, summary: 'the request' }, { request })
  const summary = target.cluster
  const found = await step('lookForRelease', { ...short, summary }, { target, rollout })
  if (!found.needed) return found.report
  const takeLease = async () => {
    try {
      return await step('takeLease', { ...short, summary }, { target, rollout, takeOver })
    } catch (error) {
      // Cancelled after it was written, it would be held by a workflow that has ended. Another's is left alone.
      if (failedOf(error, 'the Lease').type !== 'ClusterBusy') await letGo(target, rollout)
      throw error
    }
  }
  const release = () =>
    step('release', { summary, budgetSeconds: RELEASE_SECONDS }, { target, rollout, outcome: null })
  const { tookOver } = await takeLease()
  // Who cancels now waits with us: no node is written while the former holder may still be at work.
  return CancellationScope.nonCancellable(async () => {
    if (tookOver) await afterTakeover()
    return release()
  })
}
