import { type Client, type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client'
import type { PlanReport } from '../api/activities.js'
import {
  type CancelRequest,
  cancelSignal,
  pauseSignal,
  planQuery,
  progressQuery,
  resumeSignal,
  type SetMaxUnavailable,
  setMaxUnavailableUpdate,
} from '../api/messages.js'
import type { RolloutResult } from '../api/results.js'
import type { Progress } from '../core/progress.js'
import { newestRun } from './newest-run.js'
import { NoderollError } from './noderoll-error.js'
import { isDeadline } from './service-error.js'
import { type Asked, asResult, temporalError } from './temporal-error.js'

/** How long Temporal has for an answer of its own. */
const SERVER_MS = 10_000
/** How long a worker has to answer a query or an update. */
const WORKER_MS = 10_000
const PROBE_MS = 2_000

/**
 * One rollout, running or ended: the one that was started, or whichever is the latest under its id. Every method throws
 * `NoderollError`.
 */
export class RolloutHandle {
  readonly cluster: string
  readonly workflowId: string
  /** The first run of the rollout that was started; null for one that was only looked up. */
  readonly runId: string | null
  readonly #client: Client
  readonly #asked: Asked

  constructor(client: Client, cluster: string, workflowId: string, runId: string | null) {
    this.cluster = cluster
    this.workflowId = workflowId
    this.runId = runId
    this.#client = client
    this.#asked = { what: `rollout of ${cluster}`, workflowId }
  }

  /** Where it stands. Answers for an ended rollout too, as long as a worker is there. */
  progress(): Promise<Progress> {
    return this.#ofWorker((workflow) => workflow.query(progressQuery))
  }

  /** The batches as planned when it began; null before that, and for one that only stores settings. */
  plan(): Promise<PlanReport | null> {
    return this.#ofWorker((workflow) => workflow.query(planQuery))
  }

  /** Stops between two batches; with `now` a batch that has not acted yet is undone. Returns before it has stopped. */
  cancel(request: CancelRequest = {}): Promise<void> {
    return this.#ofServer((workflow) => workflow.signal(cancelSignal, request))
  }

  /** Pauses before the next batch; the cluster stays held. */
  pause(): Promise<void> {
    return this.#ofServer((workflow) => workflow.signal(pauseSignal))
  }

  resume(): Promise<void> {
    return this.#ofServer((workflow) => workflow.signal(resumeSignal))
  }

  /** How many workers at once, from the next batch on. Answers what is in force then. */
  setMaxUnavailable(request: SetMaxUnavailable): Promise<{ readonly inForce: string }> {
    return this.#ofWorker((workflow) => workflow.executeUpdate(setMaxUnavailableUpdate, { args: [request] }))
  }

  /** Waits for the end. A cancel by signal is a result; a failure is thrown, with the result it got to. */
  async result(): Promise<RolloutResult> {
    const bound = this.runId === null ? {} : { firstExecutionRunId: this.runId }
    const workflow = this.#client.workflow.getHandle(this.workflowId, undefined, bound)
    const answer: unknown = await workflow.result().catch((error: unknown) => {
      throw temporalError(error, this.#asked)
    })
    const result = asResult(answer)
    if (result !== null) return result
    throw new NoderollError('notFound', `workflow ${this.workflowId} is no rollout; name the id of one`)
  }

  async #ofServer<T>(ask: (workflow: WorkflowHandle) => Promise<T>): Promise<T> {
    try {
      return await this.#client.withDeadline(Date.now() + SERVER_MS, () => this.#ofRun(ask))
    } catch (error) {
      throw temporalError(error, this.#asked)
    }
  }

  async #ofWorker<T>(ask: (workflow: WorkflowHandle) => Promise<T>): Promise<T> {
    const beganAt = performance.now()
    try {
      return await this.#client.withDeadline(Date.now() + WORKER_MS, () => this.#ofRun(ask))
    } catch (error) {
      // A server that gives up a moment before us says so with one code or another.
      const ranOut = isDeadline(error) || performance.now() - beganAt > WORKER_MS * 0.9
      if (!ranOut) throw temporalError(error, this.#asked)
      // Both a server and a worker that are away run into the deadline.
      await this.#expectTemporal()
      const message = `no worker answers for the ${this.#asked.what}; start one with: noderoll worker`
      throw new NoderollError('noWorker', message, { cause: error })
    }
  }

  async #expectTemporal(): Promise<void> {
    try {
      await this.#client.withDeadline(Date.now() + PROBE_MS, () =>
        this.#client.workflowService.getSystemInfo({}),
      )
    } catch (error) {
      throw temporalError(error, this.#asked)
    }
  }

  /** Asks the run that the rollout is in, which may go on in another one between our looking and our asking. */
  async #ofRun<T>(ask: (workflow: WorkflowHandle) => Promise<T>): Promise<T> {
    const { workflow } = this.#client
    if (this.runId === null) return ask(workflow.getHandle(this.workflowId))
    let run = await newestRun(this.#client, this.workflowId, this.runId)
    for (;;) {
      try {
        return await ask(workflow.getHandle(this.workflowId, run))
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error
        const next = await newestRun(this.#client, this.workflowId, this.runId)
        if (next === run) throw error
        run = next
      }
    }
  }
}
