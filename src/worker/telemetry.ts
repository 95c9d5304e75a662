import { Runtime } from '@temporalio/worker'
import { NoderollError } from '../client/noderoll-error.js'
import type { WorkerConfig } from './config.js'
import { workerLogger } from './log.js'

/**
 * Logs and metrics of this process, the SDK's own among them. Once a process, before anything else of the SDK: from here
 * on SIGTERM and SIGINT mean a graceful stop.
 */
export function installTelemetry(config: Pick<WorkerConfig, 'logLevel' | 'metricsAddress'>): Runtime {
  const { logLevel, metricsAddress } = config
  try {
    return Runtime.install({
      logger: workerLogger(logLevel, process.stderr.isTTY === true),
      telemetryOptions: {
        // Without forwarding every problem with a task floods stderr in a form of its own.
        logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} },
        ...(metricsAddress === null ? {} : { metrics: { prometheus: { bindAddress: metricsAddress } } }),
      },
    })
  } catch (error) {
    if (metricsAddress === null) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new NoderollError('usage', `NODEROLL_METRICS_ADDRESS ${metricsAddress} cannot be used: ${why}`, {
      cause: error,
    })
  }
}
