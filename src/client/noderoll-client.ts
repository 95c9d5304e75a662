import { randomUUID } from 'node:crypto'
import type { Client, WorkflowHandle, WorkflowStartOptions } from '@temporalio/client'
import type { ClusterStatus, PlanReport, Released } from '../api/activities.js'
import type { RolloutRequest } from '../spec/schema.js'
import { checkRollout, checkTarget, type TargetRequest } from './check-request.js'
import { releaseWorkflowId, rolloutWorkflowId, WORKFLOW } from './ids.js'
import { NoderollError } from './noderoll-error.js'
import { RolloutHandle } from './rollout-handle.js'
import { staticDetails, staticSummary } from './static-texts.js'
import { resultIfTakenUp } from './taken-up.js'
import { temporalError } from './temporal-error.js'

const DEADLINE_MS = 10_000
/** A poll lasts a minute; who has begun none for longer is gone, though Temporal lists it for five. */
const POLLS_WITHIN_MS = 90_000

export interface NoderollClientOptions {
  /** Connected to the namespace of the workers; stays the caller's to close. */
  readonly client: Client
  readonly taskQueue: string
}

export interface StartOptions {
  /** Who asks; for the details beside the workflow. */
  readonly by?: string
  /** `cluster-rollout/<cluster>` unless told otherwise, which is what keeps a second one out. */
  readonly workflowId?: string
}

export interface ReleaseOptions {
  /** The holder as `busy` printed it, by which a person vouches that it is gone for good. */
  readonly takeOver?: string
}

/** Rollouts from TypeScript. Every method throws `NoderollError`. */
export class NoderollClient {
  readonly #client: Client
  readonly #taskQueue: string

  constructor({ client, taskQueue }: NoderollClientOptions) {
    this.#client = client
    this.#taskQueue = taskQueue
  }

  /** Starts a rollout. Throws `invalidSpec` before anything is sent, `busy` when one is running. */
  async startRollout(request: RolloutRequest, options: StartOptions = {}): Promise<RolloutHandle> {
    const spec = checkRollout(request)
    const { cluster } = spec.target
    const workflowId = options.workflowId ?? rolloutWorkflowId(cluster)
    const by = options.by ?? null
    const started = await this.#ask(`rollout of ${cluster}`, workflowId, () =>
      this.#client.withDeadline(Date.now() + DEADLINE_MS, () =>
        this.#client.workflow.start(WORKFLOW.rollout, {
          taskQueue: this.#taskQueue,
          workflowId,
          workflowIdConflictPolicy: 'FAIL',
          args: [request],
          staticSummary: staticSummary(spec),
          staticDetails: staticDetails(spec, by),
          memo: { cluster, ...(by === null ? {} : { by }) },
        }),
      ),
    )
    return new RolloutHandle(this.#client, cluster, workflowId, started.firstExecutionRunId)
  }

  /** The rollout of a cluster, running or ended; nothing is asked yet. */
  rollout(cluster: string, workflowId = rolloutWorkflowId(cluster)): RolloutHandle {
    return new RolloutHandle(this.#client, cluster, workflowId, null)
  }

  /** What `startRollout` with this request would do. Reads only. */
  async planRollout(request: RolloutRequest): Promise<PlanReport> {
    const { cluster } = checkRollout(request).target
    return this.#read(WORKFLOW.plan, `plan of ${cluster}`, `noderoll-plan/${cluster}`, request)
  }

  /** The cluster as it is: stored settings, what is out of date, who holds it. Reads only. */
  async clusterStatus(request: TargetRequest, page = 0): Promise<ClusterStatus> {
    const target = checkTarget(request)
    const { cluster } = target
    const input = { ...target, page }
    return this.#read(WORKFLOW.status, `status of ${cluster}`, `noderoll-status/${cluster}`, input)
  }

  /**
   * Puts right what a terminated rollout has left behind, and waits until it is done. A release of the cluster that runs
   * already is waited for: two would do the same.
   */
  async releaseCluster(request: TargetRequest, options: ReleaseOptions = {}): Promise<Released> {
    const target = checkTarget(request)
    const what = `release of ${target.cluster}`
    const workflow = await this.#start(WORKFLOW.release, what, {
      workflowId: releaseWorkflowId(target.cluster),
      workflowIdConflictPolicy: 'USE_EXISTING',
      args: [{ ...target, ...options }],
      staticSummary: `release ${target.cluster}`,
    })
    const ended = await this.#ask(what, workflow.workflowId, () => resultIfTakenUp<Released>(workflow))
    if ('result' in ended) return ended.result
    throw new NoderollError('noWorker', `${what} is started, and waits: ${ended.why}`)
  }

  /** Is anybody working on the task queue? A rollout that is started without one waits for it. */
  async hasWorker(): Promise<boolean> {
    const polled = await this.#lastPolls()
    return polled.some((at) => Date.now() - at < POLLS_WITHIN_MS)
  }

  /** When each worker that Temporal lists has polled last, in milliseconds since 1970. */
  async #lastPolls(): Promise<readonly number[]> {
    const { pollers } = await this.#ask(`task queue ${this.#taskQueue}`, '', () =>
      this.#client.withDeadline(Date.now() + DEADLINE_MS, () =>
        this.#client.workflowService.describeTaskQueue({
          namespace: this.#client.options.namespace,
          taskQueue: { name: this.#taskQueue },
          taskQueueType: WORKFLOW_TASKS,
        }),
      ),
    )
    return (pollers ?? []).map(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1000)
  }

  async #read<T>(type: string, what: string, idPrefix: string, input: object): Promise<T> {
    const workflow = await this.#start(type, what, {
      workflowId: `${idPrefix}/${randomUUID()}`,
      args: [input],
      staticSummary: what,
      // It changes nothing, so it may simply be cut off when nobody is there to end it.
      workflowExecutionTimeout: '15 minutes',
    })
    return this.#ask(what, workflow.workflowId, async () => {
      const ended = await resultIfTakenUp<T>(workflow)
      if ('result' in ended) return ended.result
      await workflow.terminate(ended.why)
      throw new NoderollError('noWorker', `${what}, on the task queue ${this.#taskQueue}: ${ended.why}`)
    })
  }

  async #start(
    type: string,
    what: string,
    options: Omit<WorkflowStartOptions, 'taskQueue'>,
  ): Promise<WorkflowHandle> {
    // Not by when they polled: a clock that is wrong by minutes would keep out whoever has it.
    if ((await this.#lastPolls()).length === 0) {
      const message = `no worker is on the task queue ${this.#taskQueue}; start one with: noderoll worker`
      throw new NoderollError('noWorker', message)
    }
    return this.#ask(what, options.workflowId, () =>
      this.#client.withDeadline(Date.now() + DEADLINE_MS, () =>
        this.#client.workflow.start(type, {
          workflowIdConflictPolicy: 'FAIL',
          ...options,
          taskQueue: this.#taskQueue,
        } as WorkflowStartOptions),
      ),
    )
  }

  async #ask<T>(what: string, workflowId: string, call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (error) {
      throw temporalError(error, { what, workflowId })
    }
  }
}

/** Temporal's TASK_QUEUE_TYPE_WORKFLOW. */
const WORKFLOW_TASKS = 1
