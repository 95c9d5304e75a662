import type { Connection } from '@temporalio/client'
import type { NativeConnection } from '@temporalio/worker'
import { PortError } from '../../ports/errors.js'
import type { Executions } from '../../ports/executions.js'
import { placeIn } from './worker-identity.js'

/** gRPC status NOT_FOUND: past retention, or never there. */
const NOT_FOUND = 5
/** Temporal's WORKFLOW_EXECUTION_STATUS_RUNNING and _PAUSED. */
const OPEN_STATUSES: readonly unknown[] = [1, 8]
/** _COMPLETED, _FAILED, _CANCELED, _TERMINATED and _TIMED_OUT. A status that is neither may be anything. */
const CLOSED_STATUSES: readonly unknown[] = [2, 3, 4, 5, 7]
/** Temporal's INDEXED_VALUE_TYPE_KEYWORD. */
const KEYWORD: unknown = 2
const DEADLINE_MS = 10_000

/** A poll lasts a minute; who has begun none for longer is gone, though Temporal lists it for five. */
const POLLS_WITHIN_MS = 90_000

/** Which server, namespace and task queue a worker serves. */
export interface TemporalPlace {
  readonly namespace: string
  readonly taskQueue: string
  readonly address: string
}

/**
 * Whether holders of Leases still run, asked of the server this worker serves. Its identity is the server's cluster id, so
 * that two servers behind the same address, or one behind two addresses, are told apart.
 */
export async function temporalExecutions(
  connection: Connection | NativeConnection,
  { namespace, taskQueue, address }: TemporalPlace,
  searchAttributes: readonly string[],
): Promise<Executions> {
  const info = await connection.withDeadline(Date.now() + DEADLINE_MS, () =>
    connection.workflowService.getClusterInfo({}),
  )
  const server = info.clusterId ?? ''
  return {
    server,
    namespace,
    host: address.replace(/:\d+$/, ''),
    searchAttributes: await areRegistered(connection, namespace, searchAttributes),
    workers: async () => {
      const answer = await pollersOf(connection, namespace, taskQueue)
      const now = Date.now()
      return answer
        .filter(({ lastAccessMs }) => now - lastAccessMs < POLLS_WITHIN_MS)
        .map(({ identity }) => ({ identity, place: placeIn(identity) }))
    },
    chain: async (workflowId, firstRunId) => {
      const state = await stateOfChain(connection, { namespace, workflowId, firstRunId })
      if (state !== 'unknown') return state
      throw notSaid(workflowId, 'its answer names no first run or no status that noderoll knows')
    },
  }
}

interface Chain {
  readonly namespace: string
  readonly workflowId: string
  readonly firstRunId: string
}

/**
 * Only one run of a workflow id can be open, the latest: when that one is closed, or of another chain, ours has ended. What
 * the server leaves out is `unknown`: a rollout that still runs must not be taken over.
 */
async function stateOfChain(
  connection: Connection | NativeConnection,
  { namespace, workflowId, firstRunId }: Chain,
): Promise<'open' | 'closed' | 'unknown'> {
  const latest = await connection
    .withDeadline(Date.now() + DEADLINE_MS, () =>
      connection.workflowService.describeWorkflowExecution({ namespace, execution: { workflowId } }),
    )
    .catch((error: unknown) => {
      if (hasCode(error) && error.code === NOT_FOUND) return null
      throw notSaid(workflowId, null, error)
    })
  if (latest === null) return 'closed'
  const { status, execution, firstRunId: told } = latest.workflowExecutionInfo ?? {}
  if (CLOSED_STATUSES.includes(status)) return 'closed'
  const runId = execution?.runId
  if (!OPEN_STATUSES.includes(status) || !runId) return 'unknown'
  if (runId === firstRunId) return 'open'
  // A server of before August 2024 leaves it out, but the first event of every run has it.
  const first = told || (await firstRunOf(connection, namespace, { workflowId, runId }))
  if (!first) return 'unknown'
  return first === firstRunId ? 'open' : 'closed'
}

async function firstRunOf(
  connection: Connection | NativeConnection,
  namespace: string,
  execution: { workflowId: string; runId: string },
): Promise<string | null | undefined> {
  const { history } = await connection
    .withDeadline(Date.now() + DEADLINE_MS, () =>
      connection.workflowService.getWorkflowExecutionHistory({ namespace, execution, maximumPageSize: 1 }),
    )
    .catch((error: unknown) => {
      throw notSaid(execution.workflowId, null, error)
    })
  return history?.events?.[0]?.workflowExecutionStartedEventAttributes?.firstExecutionRunId
}

function notSaid(workflowId: string, why: string | null, cause?: unknown): PortError {
  const sentence = `the Temporal server did not say whether ${workflowId} still runs`
  return new PortError('unreachable', why === null ? sentence : `${sentence}: ${why}`, { cause })
}

/** Temporal's TASK_QUEUE_TYPE_ACTIVITY. */
const ACTIVITY_TASKS = 2

async function pollersOf(
  connection: Connection | NativeConnection,
  namespace: string,
  taskQueue: string,
): Promise<{ identity: string; lastAccessMs: number }[]> {
  try {
    const answer = await connection.withDeadline(Date.now() + DEADLINE_MS, () =>
      connection.workflowService.describeTaskQueue({
        namespace,
        taskQueue: { name: taskQueue },
        taskQueueType: ACTIVITY_TASKS,
      }),
    )
    return (answer.pollers ?? []).map(({ identity, lastAccessTime }) => ({
      identity: identity ?? '',
      lastAccessMs: Number(lastAccessTime?.seconds ?? 0) * 1000,
    }))
  } catch (error) {
    throw new PortError('unreachable', `the Temporal server did not say which workers poll ${taskQueue}`, {
      cause: error,
    })
  }
}

/** Are there search attributes of these names, all of them for keywords? */
async function areRegistered(
  connection: Connection | NativeConnection,
  namespace: string,
  names: readonly string[],
): Promise<boolean> {
  try {
    const answer = await connection.withDeadline(Date.now() + DEADLINE_MS, () =>
      connection.operatorService.listSearchAttributes({ namespace }),
    )
    const known = answer.customAttributes ?? {}
    // A value of another type is refused, and with it the whole workflow task, for ever.
    return names.every((name) => known[name] === KEYWORD)
  } catch {
    // Some servers do not let a worker ask. Nothing depends on search attributes, so then there are none.
    return false
  }
}

function hasCode(error: unknown): error is { code: number } {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'number'
}
