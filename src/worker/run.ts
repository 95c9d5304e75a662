import { setFlagsFromString } from 'node:v8'
import { NativeConnection, type Runtime, type Worker } from '@temporalio/worker'
import { cannotReach } from '../client/connect.js'
import type { ConnectionSettings } from '../client/connection-settings.js'
import { NoderollError } from '../client/noderoll-error.js'
import { noNamespace, unreachable } from '../client/service-error.js'
import type { WorkerConfig } from './config.js'
import { createWorker } from './create-worker.js'
import { type Health, startHealth } from './health.js'
import { installTelemetry } from './telemetry.js'

const CONNECT_MS = 10_000
const PROBE_MS = 2_000
/** Temporal's TASK_QUEUE_TYPE_WORKFLOW. */
const WORKFLOW_TASKS = 1
/** gRPC's NOT_FOUND. */
const NOT_FOUND = 5

/**
 * Works until SIGTERM or SIGINT, then lets activities finish and returns. Throws `NoderollError` when it cannot start,
 * and when it stopped by itself or could not stop gracefully: the SDK then keeps the process alive, so the caller has to
 * end it.
 */
export async function runWorker(config: WorkerConfig): Promise<void> {
  // Local time is the worker's in workflow code, and a replay must read the same clock as the first run.
  process.env.TZ = 'UTC'
  // By itself V8 lets the heap grow to four times what is in use before it cleans up. Lists of a large cluster are read
  // and dropped at once, so that it would be garbage that fills the memory of a worker (`npm run bench -- scale`).
  setFlagsFromString('--heap-growing-percent=50')
  const runtime = installTelemetry(config)
  for (const { name, value, from } of config.described) {
    runtime.logger.info('Using setting', { setting: name, value, from })
  }
  const polling: Polling = { worker: null, connection: null }
  const health =
    config.healthPort === null
      ? null
      : await startHealth(config.healthPort, () => whyNotReady(polling, config.connection))
  try {
    await work(config, runtime, polling)
  } finally {
    await close(polling, health, runtime)
  }
}

/** What the readiness of this process depends on, as it comes into being. */
interface Polling {
  worker: Worker | null
  connection: NativeConnection | null
}

async function work(config: WorkerConfig, runtime: Runtime, polling: Polling): Promise<void> {
  const { connection: settings, workflowBundle, activitiesPerSecond } = config
  const connection = await connect(settings)
  polling.connection = connection
  await checkNamespace(connection, settings)
  const worker = await createWorker({
    connection,
    namespace: settings.namespace.value,
    taskQueue: settings.taskQueue.value,
    address: settings.address.value,
    place: config.place,
    activitiesPerSecond,
    ...(workflowBundle === null ? {} : { workflowBundle: { codePath: workflowBundle } }),
  }).catch((error: unknown) => {
    throw unreachable(error) ?? error
  })
  polling.worker = worker
  runtime.logger.info('Working', {
    address: settings.address.value,
    namespace: settings.namespace.value,
    taskQueue: settings.taskQueue.value,
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  })
  try {
    await worker.run()
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new NoderollError('failed', `the worker stopped without finishing its work: ${why}`, {
      cause: error,
    })
  }
  runtime.logger.info('Stopped', { reason: 'asked to' })
}

async function connect(settings: ConnectionSettings): Promise<NativeConnection> {
  try {
    return await within(CONNECT_MS, NativeConnection.connect(settings.connectionOptions))
  } catch (error) {
    throw await cannotReach(settings, error)
  }
}

/** The SDK would say the same in a page of protocol. */
async function checkNamespace(connection: NativeConnection, settings: ConnectionSettings): Promise<void> {
  try {
    await probe(connection, settings, CONNECT_MS)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === NOT_FOUND) {
      throw noNamespace(settings.namespace.value, error)
    }
    throw await cannotReach(settings, error)
  }
}

/** Null when this worker polls and the server answers; the SDK keeps on polling through any outage without a word. */
async function whyNotReady(
  { worker, connection }: Polling,
  settings: ConnectionSettings,
): Promise<string | null> {
  if (worker === null || connection === null) return 'starting'
  const state = worker.getState()
  if (state !== 'RUNNING') return `the worker is ${state.toLowerCase()}`
  try {
    await probe(connection, settings, PROBE_MS)
    return null
  } catch (error) {
    return `Temporal does not answer: ${error instanceof Error ? error.message : String(error)}`
  }
}

async function probe(
  connection: NativeConnection,
  { namespace, taskQueue }: ConnectionSettings,
  patienceMs: number,
): Promise<void> {
  const request = {
    namespace: namespace.value,
    taskQueue: { name: taskQueue.value },
    taskQueueType: WORKFLOW_TASKS,
  }
  await connection.withDeadline(Date.now() + patienceMs, () =>
    connection.workflowService.describeTaskQueue(request),
  )
}

/** However it ended, and whatever of it there is: nothing here may hide why. */
async function close({ connection }: Polling, health: Health | null, runtime: Runtime): Promise<void> {
  await health?.close()
  try {
    await connection?.close()
  } catch (error) {
    // After a stop that was not graceful the connection is still in use.
    runtime.logger.warn('Leaving the connection to Temporal open', { reason: String(error) })
  }
  runtime.flushLogs()
}

async function within<T>(milliseconds: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${milliseconds / 1000} s`)), milliseconds)
  })
  try {
    return await Promise.race([promise, tooLate])
  } finally {
    clearTimeout(timer)
  }
}
