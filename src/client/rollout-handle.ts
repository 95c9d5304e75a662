import type { Client, WorkflowHandle } from '@temporalio/client'
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
import { NoderollError } from './noderoll-error.js'
import { type Asked, isDeadline, temporalError, unreachable } from './temporal-error.js'

/** How long Temporal has for an answer of its own. */
const SERVER_MS = 10_000
/** How long a worker has to answer a query or an update. */
const WORKER_MS = 10_000
const PROBE_MS = 2_000

/** One rollout, running or ended. Every method throws `NoderollError`. */
export class RolloutHandle {
  readonly cluster: string
  readonly workflowId: string
  /** Of the run that was started; null for a rollout that was only looked up. */
  readonly runId: string | null
  readonly #client: Client
  readonly #workflow: WorkflowHandle
  readonly #asked: Asked

  constructor(client: Client, cluster: string, workflowId: string, runId: string | null) {
    this.cluster = cluster
    this.workflowId = workflowId
    this.runId = runId
    this.#client = client
    // Never bound to a run: a rollout goes on in another one when its history grows long.
    this.#workflow = client.workflow.getHandle(workflowId)
    this.#asked = { what: `rollout of ${cluster}`, workflowId }
  }

  /** Where it stands. Answers for an ended rollout too, as long as a worker is there. */
  progress(): Promise<Progress> {
    return this.#ofWorker(() => this.#workflow.query(progressQuery))
  }

  /** The batches as planned when it began; null before that, and for one that only stores settings. */
  plan(): Promise<PlanReport | null> {
    return this.#ofWorker(() => this.#workflow.query(planQuery))
  }

  /** Stops between two batches; with `now` a batch that has not acted yet is undone. Returns before it has stopped. */
  cancel(request: CancelRequest = {}): Promise<void> {
    return this.#ofServer(() => this.#workflow.signal(cancelSignal, request))
  }

  /** Pauses before the next batch; the cluster stays held. */
  pause(): Promise<void> {
    return this.#ofServer(() => this.#workflow.signal(pauseSignal))
  }

  resume(): Promise<void> {
    return this.#ofServer(() => this.#workflow.signal(resumeSignal))
  }

  /** How many workers at once, from the next batch on. Answers what is in force then. */
  setMaxUnavailable(request: SetMaxUnavailable): Promise<{ readonly inForce: string }> {
    return this.#ofWorker(() => this.#workflow.executeUpdate(setMaxUnavailableUpdate, { args: [request] }))
  }

  /** Waits for the end. A cancel by signal is a result; a failure is thrown, with the result it got to. */
  async result(): Promise<RolloutResult> {
    try {
      return (await this.#workflow.result()) as RolloutResult
    } catch (error) {
      throw temporalError(error, this.#asked)
    }
  }

  async #ofServer<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await this.#client.withDeadline(Date.now() + SERVER_MS, call)
    } catch (error) {
      throw temporalError(error, this.#asked)
    }
  }

  async #ofWorker<T>(call: () => Promise<T>): Promise<T> {
    const beganAt = performance.now()
    try {
      return await this.#client.withDeadline(Date.now() + WORKER_MS, call)
    } catch (error) {
      // A server that gives up a moment before us says so with one code or another.
      const ranOut = isDeadline(error) || performance.now() - beganAt > WORKER_MS * 0.9
      if (ranOut && (await this.#temporalAnswers())) {
        const message = `no worker answers for the ${this.#asked.what}; start one with: noderoll worker`
        throw new NoderollError('noWorker', message, { cause: error })
      }
      throw temporalError(error, this.#asked)
    }
  }

  /** Both a server and a worker that are away run into the deadline. */
  async #temporalAnswers(): Promise<boolean> {
    try {
      await this.#client.withDeadline(Date.now() + PROBE_MS, () =>
        this.#client.workflowService.getSystemInfo({}),
      )
      return true
    } catch (error) {
      if (unreachable(error) !== null) return false
      throw error
    }
  }
}
