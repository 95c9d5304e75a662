import { type NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker'
import { createActivities } from '../activities/create.js'
import { SEARCH_ATTRIBUTES } from '../api/messages.js'
import { HEARTBEAT_HELD_SECONDS } from '../api/timing.js'
import type { PodPlace } from '../core/self-hosting.js'
import { temporalExecutions } from '../providers/temporal/executions.js'
import { workerIdentity } from '../providers/temporal/worker-identity.js'
import { bundleWorkflows } from './bundle.js'
import { createWorld } from './world.js'

/** Both together stay below the 30 s after which Kubernetes kills a pod, with time to say why. */
const SHUTDOWN_GRACE_SECONDS = 18
const SHUTDOWN_FORCE_SECONDS = 8

export interface WorkerSettings {
  readonly connection: NativeConnection
  readonly namespace: string
  readonly taskQueue: string
  /** A bundle made before; else the workflows are bundled now (seconds). */
  readonly workflowBundle?: NonNullable<WorkerOptions['workflowBundle']>
  readonly shutdownGraceSeconds?: number
  /** Of all workers of the task queue together; the server keeps to what the last one that asked for work has said. */
  readonly activitiesPerSecond?: number | null
  readonly identity?: string
  /** `host:port` of the Temporal server, as the connection was made with. */
  readonly address: string
  /** Where in Kubernetes this process runs, as it was told; null: nowhere it knows of. */
  readonly place?: PodPlace | null
  /** What tests add to the options of the SDK. */
  readonly more?: Pick<WorkerOptions, 'interceptors' | 'debugMode'>
}

/** A worker over the worlds this process can reach. Throws when the Temporal server does not answer. */
export async function createWorker(settings: WorkerSettings): Promise<Worker> {
  const { connection, namespace, taskQueue, activitiesPerSecond = null } = settings
  const names = Object.values(SEARCH_ATTRIBUTES).map((key) => key.name)
  const { address } = settings
  const executions = await temporalExecutions(connection, { namespace, taskQueue, address }, names)
  const world = createWorld(executions)
  const graceSeconds = settings.shutdownGraceSeconds ?? SHUTDOWN_GRACE_SECONDS
  return Worker.create({
    connection,
    namespace,
    taskQueue,
    activities: createActivities(world),
    // The watches of the world live as long as the worker runs, however it ends.
    plugins: [{ name: 'noderoll.world', runWorker: (running, next) => next(running).finally(world.close) }],
    identity: settings.identity ?? workerIdentity(settings.place ?? null),
    ...settings.more,
    workflowBundle: settings.workflowBundle ?? (await bundleWorkflows()),
    shutdownGraceTime: `${graceSeconds} seconds`,
    // A stop that hangs must not keep the process for ever: activities are safe to repeat elsewhere.
    shutdownForceTime: `${graceSeconds + SHUTDOWN_FORCE_SECONDS} seconds`,
    ...(activitiesPerSecond === null ? {} : { maxTaskQueueActivitiesPerSecond: activitiesPerSecond }),
    maxHeartbeatThrottleInterval: `${HEARTBEAT_HELD_SECONDS} seconds`,
    defaultHeartbeatThrottleInterval: '2 seconds',
  })
}
