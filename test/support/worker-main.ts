import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker'
import { createWorker } from '../../src/worker/create-worker.js'
import { killAt } from './kill-point.js'

// A worker as a process of its own, to be killed, frozen and started again by a test.
const {
  ADDRESS = '',
  NAMESPACE = '',
  TASK_QUEUE = '',
  BUNDLE = '',
  KNOWN_AS = '',
  KILL_POINT,
  PLACE,
} = process.env
Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { forward: {} } } })
const connection = await NativeConnection.connect({ address: ADDRESS })
const worker = await createWorker({
  connection,
  namespace: NAMESPACE,
  taskQueue: TASK_QUEUE,
  address: KNOWN_AS,
  place: PLACE === undefined ? null : JSON.parse(PLACE),
  workflowBundle: { codePath: BUNDLE },
  shutdownGraceSeconds: 1,
  ...(KILL_POINT === undefined
    ? {}
    : { more: { interceptors: { activity: [killAt(JSON.parse(KILL_POINT))] } } }),
})
const running = worker.run()
process.send?.('ready')
await running
process.disconnect?.()
