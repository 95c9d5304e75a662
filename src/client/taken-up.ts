import { setTimeout as sleep } from 'node:timers/promises'
import type { WorkflowHandle } from '@temporalio/client'

/** A worker that is there answers in a fraction of this; one that vanished with a task loses it only after as long. */
const TAKE_UP_MS = 10_000
const LOOK_MS = 500

/**
 * The result of a workflow that was just started; null when no worker takes it up. Temporal lists workers that are gone for
 * minutes, so only what becomes of the workflow tells.
 */
export async function resultIfTakenUp<T>(workflow: WorkflowHandle): Promise<{ readonly result: T } | null> {
  const over = new AbortController()
  try {
    const result = workflow.result().then((answer) => ({ result: answer as T }))
    return await Promise.race([result, leftLying(workflow, over.signal).then(() => null)])
  } finally {
    over.abort()
  }
}

/** Resolves when it is certain that nobody takes the workflow up, and never otherwise. */
async function leftLying(workflow: WorkflowHandle, over: AbortSignal): Promise<void> {
  const beganAt = performance.now()
  while (!over.aborted) {
    await sleep(LOOK_MS, undefined, { signal: over }).catch(() => undefined)
    const { raw } = await workflow.describe()
    // Its first task is done: it waits for a step now, or has ended.
    if (raw.pendingWorkflowTask === null || raw.pendingWorkflowTask === undefined) break
    if (performance.now() - beganAt > TAKE_UP_MS) return
  }
  await new Promise<never>(() => undefined)
}
