import { randomUUID } from 'node:crypto'
import { Client, Connection, type WorkflowClientInterceptor } from '@temporalio/client'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { NoderollClient, NoderollError, type RolloutRequest } from '../../src/client/index.js'
import { realTemporal } from '../support/parts.js'
import { waitUntil } from '../support/wait.js'
import { refusing, StubWorker, stubSpec } from './stub-worker.js'

describe('the client for TypeScript', () => {
  let temporal: Awaited<ReturnType<typeof realTemporal>>
  let connection: Connection
  let client: Client
  let taskQueue: string
  let noderoll: NoderollClient
  let worker: StubWorker | null = null

  beforeAll(async () => {
    temporal = await realTemporal()
    connection = await Connection.connect({ address: temporal.address })
    client = new Client({ connection, namespace: temporal.namespace })
  })
  afterEach(async () => {
    vi.useRealTimers()
    await worker?.stop()
    worker = null
  })
  afterAll(() => connection.close())

  /** A queue and a cluster name that no other test uses. */
  async function begin(activities: Parameters<typeof StubWorker.start>[0]['activities'] = {}) {
    taskQueue = randomUUID()
    noderoll = new NoderollClient({ client, taskQueue })
    worker = await StubWorker.start({ ...temporal, taskQueue, activities })
    return { worker, cluster: `c-${randomUUID().slice(0, 8)}` }
  }

  const errorOf = (promise: Promise<unknown>): Promise<NoderollError> =>
    promise.then(
      () => {
        throw new Error('it should have failed')
      },
      (error: unknown) => error as NoderollError,
    )

  it('starts a rollout, says where it stands and how it ended', async () => {
    const { cluster } = await begin()

    const rollout = await noderoll.startRollout(stubSpec(cluster), { by: 'ci' })
    const result = await rollout.result()

    expect(rollout.workflowId).toBe(`cluster-rollout/${cluster}`)
    expect(result).toMatchObject({ cluster, outcome: 'done', done: { count: 2, names: ['w-1', 'w-2'] } })
    expect(await rollout.progress()).toMatchObject({ phase: 'ended', done: { count: 2 } })
    expect(await rollout.plan()).toMatchObject({ batchCount: 2, nodeCount: 2 })
    const described = await client.workflow.getHandle(rollout.workflowId).describe()
    expect(described.memo).toEqual({ cluster, by: 'ci' })
    expect(await described.staticSummary()).toBe(`roll ${cluster}: worker`)
    expect(await described.staticDetails()).toContain('- pool worker: offering large; 1 at a time')
    expect(await described.staticDetails()).toContain('started by ci')
  })

  it('refuses a second rollout of a cluster, and leaves the first alone', async () => {
    const { worker: stub, cluster } = await begin()
    stub.closeGate()
    const first = await noderoll.startRollout(stubSpec(cluster))

    const error = await errorOf(noderoll.startRollout(stubSpec(cluster)))

    expect(error).toBeInstanceOf(NoderollError)
    expect(error.kind).toBe('busy')
    expect(error.message).toContain(`cluster-rollout/${cluster}`)
    stub.openGate()
    expect(await first.result()).toMatchObject({ outcome: 'done' })
  })

  it('names every mistake of a spec and sends nothing', async () => {
    const { worker: stub, cluster } = await begin()
    const wrong = {
      ...stubSpec(cluster),
      pools: { worker: { maxUnavailable: 0, offerings: ['large'] } },
      batchTimeout: 'soon',
    } as unknown as RolloutRequest

    const error = await errorOf(noderoll.startRollout(wrong))

    expect(error.kind).toBe('invalidSpec')
    expect(error.problems.map((problem) => problem.where).sort()).toEqual([
      'batchTimeout',
      'pools.worker.maxUnavailable',
      'pools.worker.offerings',
    ])
    expect(stub.calls).toEqual([])
    expect((await errorOf(noderoll.rollout(cluster).result())).kind).toBe('notFound')
  })

  it('pauses, resumes and changes how many at once', async () => {
    const { worker: stub, cluster } = await begin()
    stub.closeGate()
    const rollout = await noderoll.startRollout(stubSpec(cluster))
    await waitUntil(() => stub.calls.includes('drainNode w-1'), { for: 'the first drain' })

    await rollout.pause()
    const inForce = await rollout.setMaxUnavailable({ pool: 'worker', maxUnavailable: '50%' })
    stub.openGate()
    await waitUntil(async () => (await rollout.progress()).phase === 'paused', { for: 'the pause' })

    expect(stub.calls).not.toContain('drainNode w-2')
    expect(inForce.inForce).toContain('worker')
    await rollout.resume()
    expect(await rollout.result()).toMatchObject({ outcome: 'done' })
    expect(stub.positions.at(-1)?.maxUnavailable).toEqual({ worker: { percent: 50 } })
  })

  it('cancels between two batches, by whom is said at the end', async () => {
    const { worker: stub, cluster } = await begin()
    stub.closeGate()
    const rollout = await noderoll.startRollout(stubSpec(cluster))
    await waitUntil(() => stub.calls.includes('drainNode w-1'), { for: 'the first drain' })

    await rollout.cancel({ by: 'ada' })
    stub.openGate()

    const result = await rollout.result()
    expect(result).toMatchObject({ outcome: 'cancelled', done: { names: ['w-1'] } })
    expect(result.lastError).toContain('cancelled by ada')
  })

  it('cancels now: a batch that has not acted is undone', async () => {
    const { worker: stub, cluster } = await begin()
    stub.closeGate()
    const rollout = await noderoll.startRollout(stubSpec(cluster))
    await waitUntil(() => stub.calls.includes('drainNode w-1'), { for: 'the first drain' })

    await rollout.cancel({ now: true })

    expect(await rollout.result()).toMatchObject({ outcome: 'cancelled', done: { count: 0 } })
    expect(stub.calls).toContain('undoNodes')
    expect(stub.calls).not.toContain('stopMachine w-1')
  })

  it('gives the sentence, the type and the result of a rollout that failed', async () => {
    const { cluster } = await begin({ drainNode: refusing('DrainBlocked', 'w-1 is blocked by a budget') })

    const error = await errorOf((await noderoll.startRollout(stubSpec(cluster))).result())

    expect(error).toMatchObject({ kind: 'failed', type: 'DrainBlocked', result: { outcome: 'failed' } })
    expect(error.message).toContain('w-1 is blocked by a budget')
  })

  it.each([
    ['refused', 'SettingsRefused'],
    ['busy', 'ClusterBusy'],
    ['invalidSpec', 'InvalidSpec'],
    ['failed', 'LeaseLost'],
  ])('says %s of a rollout that ends with %s', async (kind, type) => {
    const { cluster } = await begin({ checkSettings: refusing(type, 'because of this') })

    const error = await errorOf((await noderoll.startRollout(stubSpec(cluster))).result())

    expect(error).toMatchObject({ kind, type, message: 'because of this' })
  })

  it('tells a native cancellation and a termination apart', async () => {
    const { worker: stub, cluster } = await begin()
    stub.closeGate()
    const cancelled = await noderoll.startRollout(stubSpec(cluster))
    const terminated = await noderoll.startRollout(stubSpec(`${cluster}-2`))
    await waitUntil(() => stub.calls.filter((call) => call.startsWith('drainNode')).length === 2, {
      for: 'both drains',
    })

    await client.workflow.getHandle(cancelled.workflowId).cancel()
    await client.workflow.getHandle(terminated.workflowId).terminate('by mistake')

    expect(await errorOf(cancelled.result())).toMatchObject({ kind: 'cancelled' })
    expect(stub.calls).toContain('undoNodes')
    const error = await errorOf(terminated.result())
    expect(error.kind).toBe('failed')
    expect(error.message).toMatch(/terminated \(by mistake\).*run release/)
  })

  it('plans and looks without a rollout, and releases', async () => {
    const { worker: stub, cluster } = await begin()
    const spec = stubSpec(cluster)

    expect(await noderoll.planRollout(spec)).toMatchObject({ cluster, nodeCount: 2, refusals: [] })
    expect(await noderoll.clusterStatus(spec)).toMatchObject({ cluster, state: 'Running', nextPage: 1 })
    expect(await noderoll.clusterStatus(spec, 1)).toMatchObject({ nextPage: null })
    expect(stub.calls).toEqual([
      'checkSpec',
      'readPlan',
      'checkTarget',
      'readStatus',
      'checkTarget',
      'readStatus',
    ])
    const released = await noderoll.releaseCluster(spec, { takeOver: 'server/ns/id/run' })
    expect(released).toMatchObject({ state: 'Running' })
    expect(stub.calls.slice(6)).toEqual(['checkTarget', 'lookForRelease', 'takeLease', 'release'])
  })

  it('says so when nobody works on the task queue, and leaves nothing behind', async () => {
    const lonely = new NoderollClient({ client, taskQueue: randomUUID() })

    const error = await errorOf(lonely.planRollout(stubSpec('prod')))

    expect(error.kind).toBe('noWorker')
    expect(error.message).toContain('noderoll worker')
    const left = client.workflow.list({
      query: 'WorkflowType = "planRollout" and ExecutionStatus = "Running"',
    })
    for await (const workflow of left) expect(workflow.workflowId).not.toContain('noderoll-plan/prod/')
  })

  it('says so when the workers that Temporal still lists are gone', async () => {
    const { worker: stub, cluster } = await begin()
    const spec = stubSpec(cluster)
    await stub.stop()

    const asked = await Promise.all([
      errorOf(noderoll.planRollout(spec)),
      errorOf(noderoll.clusterStatus(spec)),
      errorOf(noderoll.releaseCluster(spec)),
    ])

    expect(asked.map(({ kind }) => kind)).toEqual(['noWorker', 'noWorker', 'noWorker'])
    expect(asked[1]?.message).toMatch(
      /^status of .*: no worker takes it up; start one with: noderoll worker$/,
    )
    const query = `TaskQueue = "${taskQueue}" and ExecutionStatus = "Running"`
    const left = async () => {
      const found: string[] = []
      for await (const { workflowId } of client.workflow.list({ query })) found.push(workflowId)
      return found.length === 1 ? found : null
    }
    expect(await waitUntil(left, { for: 'one that runs' })).toEqual([`cluster-release/${cluster}`])
    // Nobody can wait for minutes here.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    expect(await noderoll.hasWorker()).toBe(true)
    vi.setSystemTime(Date.now() + 95_000)
    expect(await noderoll.hasWorker()).toBe(false)
  })

  it('waits for the release that runs already', async () => {
    let letGo: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const { worker: stub, cluster } = await begin({
      takeLease: async () => {
        await held
        return { tookOver: false }
      },
    })
    let starts = 0
    const counted: WorkflowClientInterceptor = {
      startWithDetails: async (input, next) => {
        const started = await next(input)
        starts += 1
        return started
      },
    }
    const counting = new NoderollClient({
      client: new Client({
        connection,
        namespace: temporal.namespace,
        interceptors: { workflow: [counted] },
      }),
      taskQueue,
    })
    const first = counting.releaseCluster(stubSpec(cluster))
    await waitUntil(() => stub.calls.includes('takeLease'), { for: 'the lease' })

    const second = counting.releaseCluster(stubSpec(cluster))
    await waitUntil(() => starts === 2, { for: 'the second to have asked' }).finally(letGo)

    expect(await second).toMatchObject({ state: 'Running' })
    expect(await first).toEqual(await second)
    expect(stub.calls.filter((call) => call === 'release')).toHaveLength(1)
  })

  it('takes no other workflow for a rollout', async () => {
    const { cluster } = await begin()
    await noderoll.releaseCluster(stubSpec(cluster))

    const error = await errorOf(noderoll.rollout(cluster, `cluster-release/${cluster}`).result())

    expect(error).toMatchObject({ kind: 'notFound', message: expect.stringContaining('is no rollout') })
  })

  it.each(['pause', 'progress', 'result'] as const)('says %s of a rollout that never was', async (method) => {
    const { cluster } = await begin()

    const error = await errorOf(noderoll.rollout(cluster)[method]())

    expect(error.kind).toBe('notFound')
    expect(error.message).toContain(`no rollout of ${cluster}`)
  })

  it('says that a rollout has ended to whoever wants to steer it', async () => {
    const { cluster } = await begin()
    const rollout = await noderoll.startRollout(stubSpec(cluster))
    await rollout.result()

    expect(await errorOf(rollout.pause())).toMatchObject({ kind: 'notFound' })
    expect((await errorOf(rollout.cancel())).message).toContain('has ended')
  })

  it('refuses a number that makes no sense in the words of the rollout', async () => {
    const { worker: stub, cluster } = await begin()
    stub.closeGate()
    const rollout = await noderoll.startRollout(stubSpec(cluster))

    const error = await errorOf(rollout.setMaxUnavailable({ maxUnavailable: 'many' }))

    expect(error.kind).toBe('refused')
    expect(error.message).toContain('integer of at least 1')
    await rollout.cancel({ now: true })
    await rollout.result()
  })
})
