import type { Client } from '@temporalio/client'

/** Temporal's HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT. */
const CLOSE_EVENT = 2

/**
 * The last run of the rollout that began with `firstRunId`: it goes on in another one when its history grows long. Another
 * rollout may have the same id by now.
 */
export async function newestRun(client: Client, workflowId: string, firstRunId: string): Promise<string> {
  const { runId, raw } = await client.workflow.getHandle(workflowId).describe()
  if (raw.workflowExecutionInfo?.firstRunId === firstRunId) return runId
  for (let run = firstRunId; ; ) {
    const next = await continuedIn(client, workflowId, run)
    if (next === null) return run
    run = next
  }
}

async function continuedIn(client: Client, workflowId: string, runId: string): Promise<string | null> {
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    historyEventFilterType: CLOSE_EVENT,
  })
  const [end] = history?.events ?? []
  return end?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId || null
}
