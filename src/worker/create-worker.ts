import { fileURLToPath } from 'node:url'
import { type NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker'
import { createActivities } from '../activities/create.js'
import { SEARCH_ATTRIBUTES } from '../api/messages.js'
import { temporalExecutions } from '../providers/temporal/executions.js'
import { createWorld } from './world.js'

export interface WorkerSettings {
  readonly connection: NativeConnection
  readonly namespace: string
  readonly taskQueue: string
  /** A bundle made before; else the workflows are bundled now (seconds). */
  readonly workflowBundle?: WorkerOptions['workflowBundle']
  readonly shutdownGraceSeconds?: number
  readonly identity?: string
}

/** A worker over the worlds this process can reach. Throws when the Temporal server does not answer. */
export async function createWorker(settings: WorkerSettings): Promise<Worker> {
  const { connection, namespace, taskQueue } = settings
  const names = Object.values(SEARCH_ATTRIBUTES).map((key) => key.name)
  const executions = await temporalExecutions(connection, namespace, names)
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  return Worker.create({
    connection,
    namespace,
    taskQueue,
    activities: createActivities(createWorld(executions)),
    ...(settings.identity === undefined ? {} : { identity: settings.identity }),
    ...(settings.workflowBundle === undefined
      ? { workflowsPath: fileURLToPath(new URL(`../workflows/index.${extension}`, import.meta.url)) }
      : { workflowBundle: settings.workflowBundle }),
    shutdownGraceTime: `${settings.shutdownGraceSeconds ?? 20} seconds`,
    // A stop that hangs must not keep the process for ever: activities are safe to repeat elsewhere.
    shutdownForceTime: `${(settings.shutdownGraceSeconds ?? 20) + 10} seconds`,
    maxHeartbeatThrottleInterval: '5 seconds',
    defaultHeartbeatThrottleInterval: '2 seconds',
  })
}
