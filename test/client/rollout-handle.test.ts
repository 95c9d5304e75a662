import { Client, Connection } from '@temporalio/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NoderollClient } from '../../src/client/index.js'
import { startTemporal, type TemporalServer } from '../support/temporal.js'
import { waitUntil } from '../support/wait.js'
import { StubWorker, stubSpec } from './stub-worker.js'

const TASK_QUEUE = 'handles'

describe('the handle of a rollout that was started', () => {
  let temporal: TemporalServer
  let connection: Connection
  let client: Client
  let noderoll: NoderollClient
  let worker: StubWorker

  beforeAll(async () => {
    // So that each rollout goes on in another run after a node or two.
    temporal = await startTemporal({ suggestContinueAsNew: 60 })
    connection = await Connection.connect({ address: temporal.address })
    client = new Client({ connection })
    noderoll = new NoderollClient({ client, taskQueue: TASK_QUEUE })
    worker = await StubWorker.start({
      address: temporal.address,
      namespace: 'default',
      taskQueue: TASK_QUEUE,
      workers: 4,
    })
  })
  afterAll(async () => {
    await worker?.stop()
    await connection?.close()
    await temporal?.stop()
  })

  const currentRun = async (workflowId: string) =>
    (await client.workflow.getHandle(workflowId).describe()).runId

  it('follows it from run to run', async () => {
    const rollout = await noderoll.startRollout(stubSpec('long'))
    await rollout.pause()
    await rollout.resume()
    await waitUntil(async () => (await currentRun(rollout.workflowId)) !== rollout.runId, {
      for: 'the next run',
    })
    worker.closeGate()
    const { done } = await rollout.progress()
    worker.openGate()

    expect(done.count).toBeGreaterThan(0)
    expect(await rollout.result()).toMatchObject({ outcome: 'done', done: { count: 4 } })
    expect(await rollout.progress()).toMatchObject({ phase: 'ended', done: { count: 4 } })
  })

  it('leaves the next rollout of the cluster alone', async () => {
    const first = await noderoll.startRollout(stubSpec('prod'))
    await first.result()
    expect(await currentRun(first.workflowId)).not.toBe(first.runId)
    worker.forget('prod')
    worker.closeGate()
    const second = await noderoll.startRollout(stubSpec('prod'))

    expect(await first.result()).toMatchObject({ outcome: 'done', done: { count: 4 } })
    expect(await first.progress()).toMatchObject({ phase: 'ended', done: { count: 4 } })
    expect(await first.plan()).toMatchObject({ nodeCount: 4 })
    for (const steer of [
      () => first.cancel(),
      () => first.pause(),
      () => first.setMaxUnavailable({ maxUnavailable: 2 }),
    ]) {
      await expect(steer()).rejects.toMatchObject({
        kind: 'notFound',
        message: expect.stringContaining('has ended'),
      })
    }
    const found = noderoll.rollout('prod')
    expect(await found.progress()).toMatchObject({ cancelRequested: 'no', paused: false })
    await found.cancel()
    worker.openGate()
    expect((await second.result()).outcome).toBe('cancelled')
  })
})
