import type { Connection } from '@temporalio/client'
import type { NativeConnection } from '@temporalio/worker'
import { PortError } from '../../ports/errors.js'
import type { Executions } from '../../ports/executions.js'

/** gRPC status NOT_FOUND: past retention, or never there. */
const NOT_FOUND = 5
/** Temporal's WORKFLOW_EXECUTION_STATUS_RUNNING and _PAUSED. */
const OPEN_STATUSES: readonly unknown[] = [1, 8]
/** Temporal's INDEXED_VALUE_TYPE_KEYWORD. */
const KEYWORD: unknown = 2
const DEADLINE_MS = 10_000

/**
 * Whether holders of Leases still run, asked of the server this worker serves. Its identity is the server's cluster id, so
 * that two servers behind the same address, or one behind two addresses, are told apart.
 */
export async function temporalExecutions(
  connection: Connection | NativeConnection,
  namespace: string,
  searchAttributes: readonly string[],
): Promise<Executions> {
  const info = await connection.withDeadline(Date.now() + DEADLINE_MS, () =>
    connection.workflowService.getClusterInfo({}),
  )
  const server = info.clusterId ?? ''
  return {
    server,
    namespace,
    searchAttributes: await areRegistered(connection, namespace, searchAttributes),
    chain: async (workflowId, firstRunId) => {
      try {
        const answer = await connection.withDeadline(Date.now() + DEADLINE_MS, () =>
          connection.workflowService.describeWorkflowExecution({ namespace, execution: { workflowId } }),
        )
        const found = answer.workflowExecutionInfo
        // Only one run of an id can be open: another chain under the same id means that the holder's has ended.
        const ours = found?.firstRunId === firstRunId
        return ours && OPEN_STATUSES.includes(found?.status) ? 'open' : 'closed'
      } catch (error) {
        if (hasCode(error) && error.code === NOT_FOUND) return 'closed'
        throw new PortError(
          'unreachable',
          `the Temporal server did not say whether ${workflowId} still runs`,
          { cause: error },
        )
      }
    },
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
