import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { StubWorker, stubSpec } from '../client/stub-worker.js'
import { type Fault, TemporalProxy } from '../client/temporal-proxy.js'
import { realTemporal } from '../support/parts.js'
import { CommandBed, type CommandProcess } from './command.js'

const EXPIRED: Fault = { code: 16, message: 'Jwt is expired' }
const WEDGED: Fault = { code: 9, message: 'Unable to query workflow due to Workflow Task in failed state.' }

describe('noderoll watch, while Temporal answers with errors', () => {
  let proxy: TemporalProxy
  let bed: CommandBed
  let worker: StubWorker
  const taskQueue = randomUUID()

  beforeAll(async () => {
    const temporal = await realTemporal()
    proxy = await TemporalProxy.start(temporal.address)
    bed = await CommandBed.open({
      TEMPORAL_ADDRESS: proxy.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
      NODEROLL_TASK_QUEUE: taskQueue,
    })
    worker = await StubWorker.start({ ...temporal, taskQueue })
  })
  afterEach(() => {
    proxy.pass()
    worker.openGate()
  })
  afterAll(async () => {
    await bed?.close()
    await worker?.stop()
    await proxy?.stop()
  })

  /** Stands in its first drain. */
  async function watch(): Promise<CommandProcess> {
    worker.closeGate()
    const cluster = `c-${randomUUID().slice(0, 8)}`
    const file = await bed.file(`${cluster}.json`, stubSpec(cluster))
    const watching = bed.start(['start', '--file', file, '--watch'])
    await watching.said('w-1 drain')
    return watching
  }

  it('ends when its key has expired', async () => {
    const watching = await watch()

    proxy.answer(/./, EXPIRED)

    const { code, stdout, stderr } = await watching.ended
    expect(code).toBe(4)
    expect(stderr).toMatch(/^noderoll: Temporal does not let us in; check TEMPORAL_API_KEY/)
    expect(stdout).not.toContain('failed')
  })

  it('ends when there is no such namespace', async () => {
    const { code, stderr } = await bed.run(['watch', 'prod', '--namespace', 'nope'])

    expect(code).toBe(4)
    expect(stderr).toMatch(/^noderoll: Temporal has no namespace nope; correct the name/)
  })

  it('ends with an error that does not pass, and not as if the rollout had failed', async () => {
    const watching = await watch()

    proxy.answer(/./, { code: 12, message: 'unknown method' })

    const { code, stderr } = await watching.ended
    expect(code).toBe(4)
    expect(stderr).toMatch(/Temporal answered with an error \(unknown method\)\n$/)
  })

  it.each([
    ['breaks a call off', { code: 1, message: 'RST_STREAM' }],
    ['fails inside', { code: 13, message: 'no healthy upstream' }],
  ])('waits while something on the way %s, and says so once', async (_, fault) => {
    const watching = await watch()

    proxy.answer(/./, fault)
    await watching.said(`Temporal does not answer as it should (${fault.message})`, 'stderr')
    proxy.pass()
    worker.openGate()

    const { code, stderr } = await watching.ended
    expect(code).toBe(0)
    expect(stderr.match(/does not answer/g)).toHaveLength(1)
  })

  it('says once why it shows nothing of a rollout whose workflow is stuck', async () => {
    const watching = await watch()

    proxy.answer(/^QueryWorkflow$/, WEDGED)
    await watching.said('is stuck: workers fail at its workflow task; their log says why', 'stderr')
    proxy.pass()
    worker.openGate()

    const { code, stdout, stderr } = await watching.ended
    expect(code).toBe(0)
    expect(stderr.match(/is stuck/g)).toHaveLength(1)
    expect(stdout).toContain('done, 2 nodes rolled')
  })
})
