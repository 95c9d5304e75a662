import type { WorkerPlace } from '../core/self-hosting.js'

/** Whether the workflow execution named by a Lease holder still runs. */
export interface Executions {
  /** Identity of the Temporal server and namespace this worker serves, as the first two parts of a holder. */
  readonly server: string
  readonly namespace: string
  /** Host of the Temporal server as this worker reaches it. */
  readonly host: string
  /** Are noderoll's search attributes registered there? Writing one that is not would wedge a workflow for good. */
  readonly searchAttributes: boolean
  /**
   * `open` while any run of the chain that began with `firstRunId` is open; `closed` when the server says it is
   * closed or no longer knows it. Throws `PortError` `unreachable` when the server does not answer.
   */
  chain(workflowId: string, firstRunId: string, signal: AbortSignal): Promise<'open' | 'closed'>
  /** The workers that poll the task queue of this one, itself included. Throws `PortError` `unreachable`. */
  workers(): Promise<readonly WorkerPlace[]>
}
