import { setTimeout as sleep } from 'node:timers/promises'
import type { WorkflowHandle } from '@temporalio/client'

/** A worker that is there answers in a fraction of this; one that vanished with a task loses it only after as long. */
const TAKE_UP_MS = 10_000
const LOOK_MS = 500

/**
 * The result of a workflow that was just started; or why not, when no worker takes it up. Temporal lists workers that are gone
 * for minutes, so only what becomes of the workflow tells.
 */
export async function resultIfTakenUp<T>(
  workflow: WorkflowHandle,
): Promise<{ readonly result: T } | { readonly why: string }> {
  const over = new AbortController()
  // Given up with us: the SDK would try it again on a connection that is closed by then, and throw where nobody can catch.
  const asking = workflow.client.withAbortSignal(over.signal, () => workflow.result())
  try {
    const result = asking.then((answer) => ({ result: answer as T }))
    return await Promise.race([result, leftLying(workflow, over.signal)])
  } finally {
    over.abort()
  }
}

/** Resolves when nobody has taken the workflow up in time, and never otherwise. */
async function leftLying(workflow: WorkflowHandle, over: AbortSignal): Promise<{ readonly why: string }> {
  const beganAt = performance.now()
  for (;;) {
    await sleep(LOOK_MS, undefined, { signal: over }).catch(() => undefined)
    if (over.aborted) break
    const { raw } = await workflow.describe()
    // Its first task is done: it waits for a step now, or has ended.
    const { pendingWorkflowTask: task } = raw
    if (task === null || task === undefined) break
    if (performance.now() - beganAt < TAKE_UP_MS) continue
    const why =
      Number(task.attempt) > 1
        ? 'a worker took it up and did not get through its first task; look whether it is alive, and at its log'
        : 'no worker takes it up; start one with: noderoll worker'
    return { why }
  }
  return new Promise<never>(() => undefined)
}
