import { Client, type Connection, type WorkflowClientInterceptor } from '@temporalio/client'
import type { History } from '@temporalio/common/lib/proto-utils.js'
import { recordHistory } from './record-history.js'
import { Replayer } from './replay.js'

interface Started {
  readonly client: Client
  readonly workflowId: string
  readonly runId: string
}

/** One run of a workflow, which may go on as another one. */
interface Run {
  readonly runId: string
  readonly history: History
}

/** Remembers every workflow that its clients start, so that no test can forget to replay one. */
export class StartedWorkflows {
  readonly #replayer = new Replayer()
  #started: Started[] = []

  client(connection: Connection, namespace: string): Client {
    const interceptor: WorkflowClientInterceptor = {
      startWithDetails: async (input, next) => {
        const output = await next(input)
        this.#started.push({ client, workflowId: input.options.workflowId, runId: output.runId })
        return output
      },
      signalWithStart: async (input, next) => {
        const runId = await next(input)
        this.#started.push({ client, workflowId: input.options.workflowId, runId })
        return runId
      },
    }
    const client = new Client({ connection, namespace, interceptors: { workflow: [interceptor] } })
    return client
  }

  /** One that was started by other means. */
  async add(client: Client, workflowId: string): Promise<void> {
    const { runId } = await client.workflow.getHandle(workflowId).describe()
    this.#started.push({ client, workflowId, runId })
  }

  /** Those that a test left running; how many. */
  async terminate(): Promise<number> {
    let count = 0
    for (const { client, workflowId } of this.#started) {
      try {
        await client.workflow.getHandle(workflowId).terminate('end of the test')
        count++
      } catch (error) {
        if (!/already completed|not found/.test(String(error))) throw error
      }
    }
    return count
  }

  /** Replays each run once, however it ended, and forgets them. */
  async replay(): Promise<void> {
    const replayed = new Set<string>()
    for (const { client, workflowId, runId } of this.#started.splice(0)) {
      for (const run of await runsFrom(client, workflowId, runId)) {
        if (replayed.has(run.runId)) continue
        replayed.add(run.runId)
        await recordHistory(run.history)
        await this.#replayer.replay({ history: run.history, workflowId }).catch((cause: unknown) => {
          throw new Error(`run ${run.runId} of ${workflowId} does not replay`, { cause })
        })
      }
    }
  }

  async close(): Promise<void> {
    await this.#replayer.close()
  }
}

/** A run and all that it went on as: by continuing as new, or because somebody reset it. */
export async function runsFrom(client: Client, workflowId: string, first: string): Promise<readonly Run[]> {
  const runs: Run[] = []
  for (const left = [first]; ; ) {
    const runId = left.shift()
    if (runId === undefined) return runs
    const handle = client.workflow.getHandle(workflowId, runId)
    const [history, { raw }] = await Promise.all([handle.fetchHistory(), handle.describe()])
    runs.push({ runId, history })
    const asNew = history.events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId
    const reset = raw.workflowExtendedInfo?.resetRunId
    for (const next of [asNew, reset]) if (next) left.push(next)
  }
}
