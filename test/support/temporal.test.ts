import { fileURLToPath } from 'node:url'
import { Client, Connection } from '@temporalio/client'
import { NativeConnection, Worker } from '@temporalio/worker'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { realTemporal } from './parts.js'
import type { pause } from './pause.workflow.js'
import './quiet-runtime.js'
import { startTemporal } from './temporal.js'
import { timeSkippingInterceptor } from './time-skipping.js'

describe('a real Temporal server', () => {
  let connection: Connection
  let native: NativeConnection
  let worker: Worker
  let running: Promise<void>
  let namespace: string
  const taskQueue = 'testbed'

  beforeAll(async () => {
    const temporal = await realTemporal()
    namespace = temporal.namespace
    const { address } = temporal
    connection = await Connection.connect({ address, interceptors: [timeSkippingInterceptor] })
    native = await NativeConnection.connect({ address })
    const workflowsPath = fileURLToPath(new URL('./pause.workflow.ts', import.meta.url))
    worker = await Worker.create({ connection: native, namespace, taskQueue, workflowsPath })
    running = worker.run()
  })

  afterAll(async () => {
    worker.shutdown()
    await running
    await native.close()
    await connection.close()
  })

  it('skips time for workflows started over a connection with the interceptor', async () => {
    const client = new Client({ connection, namespace })
    const started = performance.now()
    const options = { taskQueue, workflowId: 'skips', args: [6 * 3_600_000] as [number] }
    const paused = await client.workflow.execute<typeof pause>('pause', options)

    expect(paused).toBeGreaterThanOrEqual(6 * 3_600_000)
    expect(performance.now() - started).toBeLessThan(10_000)
  })

  it('has precise timers without it', async () => {
    const { address } = await realTemporal()
    const plain = await Connection.connect({ address })
    const client = new Client({ connection: plain, namespace })
    const pauses: number[] = []
    for (let time = 0; time < 5; time++) {
      const options = { taskQueue, workflowId: `waits-${time}`, args: [200] as [number] }
      pauses.push(await client.workflow.execute<typeof pause>('pause', options))
    }
    await plain.close()

    // Without, they all last for a second.
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(200)
    expect(Math.min(...pauses)).toBeLessThan(900)
  })

  it('keeps workflows over a restart when asked to, and has the given namespaces', async () => {
    const server = await startTemporal({ persistent: true, namespaces: ['prod'], suggestContinueAsNew: 60 })
    try {
      if (!server.process) return
      const start = { taskQueue: 'nobody', workflowId: 'kept', args: [1] as [number] }
      const before = await Connection.connect({ address: server.address })
      await new Client({ connection: before, namespace: 'prod' }).workflow.start<typeof pause>('pause', start)
      await before.close()
      await server.process.restart()
      const after = await Connection.connect({ address: server.address })
      const kept = await new Client({ connection: after, namespace: 'prod' }).workflow
        .getHandle('kept')
        .describe()
      await after.close()

      expect(kept.status.name).toBe('RUNNING')
    } finally {
      await server.stop()
    }
  })
})
