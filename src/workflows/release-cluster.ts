import { CancellationScope, workflowInfo } from '@temporalio/workflow'
import type { Released, RolloutId } from '../api/activities.js'
import { afterTakeover } from './begin.js'
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
  const release = () =>
    step('release', { summary, budgetSeconds: RELEASE_SECONDS }, { target, rollout, outcome: null })
  const { tookOver } = await step('takeLease', { ...short, summary }, { target, rollout, takeOver })
  // Who cancels now waits with us: no node is written while the former holder may still be at work.
  return CancellationScope.nonCancellable(async () => {
    if (tookOver) await afterTakeover()
    return release()
  })
}
