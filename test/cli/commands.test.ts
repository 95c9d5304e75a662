import { randomUUID } from 'node:crypto'
import { Client, Connection } from '@temporalio/client'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { refusing, StubWorker, stubSpec } from '../client/stub-worker.js'
import { realTemporal } from '../support/parts.js'
import { waitUntil } from '../support/wait.js'
import { CommandBed } from './command.js'

describe('noderoll, the command', () => {
  let temporal: Awaited<ReturnType<typeof realTemporal>>
  let connection: Connection
  let client: Client
  let bed: CommandBed
  let worker: StubWorker
  let taskQueue: string
  let cluster: string
  let file: string

  beforeAll(async () => {
    temporal = await realTemporal()
    connection = await Connection.connect({ address: temporal.address })
    client = new Client({ connection, namespace: temporal.namespace })
    bed = await CommandBed.open({
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
    })
  })
  afterEach(() => worker.stop())
  afterAll(async () => {
    await bed.close()
    await connection.close()
  })

  async function begin(activities: Parameters<typeof StubWorker.start>[0]['activities'] = {}) {
    taskQueue = randomUUID()
    cluster = `c-${taskQueue.slice(0, 8)}`
    file = await bed.file(`${cluster}.json`, stubSpec(cluster))
    worker = await StubWorker.start({ ...temporal, taskQueue, activities })
  }

  const noderoll = (...args: string[]) => bed.run(args, { NODEROLL_TASK_QUEUE: taskQueue })

  /** A rollout that stands in its first drain. */
  async function started() {
    worker.closeGate()
    expect(await noderoll('start', '--file', file)).toMatchObject({ code: 0 })
    await waitUntil(() => worker.calls.includes('drainNode w-1'), { for: 'the first drain' })
  }

  it('starts and watches a rollout to its end, as lines', async () => {
    await begin()

    const { code, stdout, stderr } = await noderoll('start', '--file', file, '--watch', '--by', 'ci')

    expect(stderr).toBe('')
    expect(code).toBe(0)
    expect(stdout).toContain(`started cluster-rollout/${cluster}`)
    expect(stdout).toMatch(/^\d\d:\d\d:\d\dZ w-2 done$/m)
    expect(stdout).toContain(`${cluster}: done, 2 nodes rolled (w-1, w-2); the cluster is Running`)
    const { memo } = await client.workflow.getHandle(`cluster-rollout/${cluster}`).describe()
    expect(memo).toEqual({ cluster, by: 'ci' })
  })

  it('watches in JSON, one object a line, the last one with the result', async () => {
    await begin()
    await started()
    const watching = bed.start(['watch', cluster, '-o', 'json'], { NODEROLL_TASK_QUEUE: taskQueue })
    await watching.said('"step":"drain"')
    worker.openGate()

    const { code, stdout } = await watching.ended

    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(code).toBe(0)
    expect(events[0]).toMatchObject({ kind: 'progress', progress: { cluster, phase: 'rolling' } })
    expect(events.at(-1)).toMatchObject({ kind: 'ended', result: { outcome: 'done' } })
  })

  it('leaves the rollout alone when the watching is interrupted', async () => {
    await begin()
    worker.closeGate()
    const watching = bed.start(['start', '-f', file, '-w'], { NODEROLL_TASK_QUEUE: taskQueue })
    await watching.said('w-1 drain')

    watching.signal('SIGINT')

    const { code, stderr } = await watching.ended
    expect(code).toBe(130)
    expect(stderr).toContain(`noderoll watch ${cluster}`)
    worker.openGate()
    expect(await noderoll('watch', cluster)).toMatchObject({ code: 0 })
  })

  it('refuses a second rollout of the cluster with a code of its own', async () => {
    await begin()
    await started()

    const second = await noderoll('start', '--file', file)

    expect(second.code).toBe(3)
    expect(second.stdout).toBe('')
    expect(second.stderr).toBe(
      `noderoll: rollout of ${cluster} is already running (workflow cluster-rollout/${cluster}); watch it, or cancel it first\n`,
    )
  })

  it('pauses, shows, resumes and cancels', async () => {
    await begin()
    await started()

    expect(await noderoll('pause', cluster)).toMatchObject({ code: 0, stderr: '' })
    const paused = await noderoll('progress', cluster, '--output', 'yaml')
    expect(parse(paused.stdout)).toMatchObject({
      cluster,
      paused: true,
      nodes: [{ node: 'w-1', step: 'drain' }],
    })
    expect(await noderoll('resume', cluster)).toMatchObject({ code: 0 })
    expect((await noderoll('progress', cluster)).stdout).toMatch(/^w-1 +worker +drain +\d\d:\d\d:\d\dZ$/m)
    expect(await noderoll('cancel', cluster)).toMatchObject({ code: 0 })
    worker.openGate()

    const watched = await noderoll('watch', cluster)
    expect(watched.code).toBe(5)
    expect(watched.stdout).toContain('cancelled by tester')
    expect(await noderoll('resume', cluster)).toMatchObject({ code: 6 })
  })

  it('cancels now, by whom is said', async () => {
    await begin()
    await started()

    const cancelled = await noderoll('cancel', cluster, '--now', '--by', 'ada')
    expect(cancelled).toMatchObject({ code: 0, stderr: '' })
    expect(cancelled.stdout).toBe(
      `${cluster} stops: a batch that has not stopped a machine yet is undone, one that has is finished first\n`,
    )

    const watched = await noderoll('watch', cluster)
    expect(watched.code).toBe(5)
    expect(watched.stdout).toContain('cancelled by ada')
    expect(worker.calls).toContain('undoNodes')
  })

  it('changes how many at once', async () => {
    await begin()
    await started()

    const set = await noderoll('set-max-unavailable', cluster, '2', '--pool', 'worker')

    expect(set).toMatchObject({ code: 0, stderr: '' })
    expect(await noderoll('set-max-unavailable', cluster, '2', '--pool', 'nope')).toMatchObject({ code: 3 })
    expect(await noderoll('set-max-unavailable', cluster, '0')).toMatchObject({ code: 2 })
    worker.openGate()
    await waitUntil(() => worker.positions.length > 1, { for: 'the next batch' })
    expect(worker.positions.at(-1)?.maxUnavailable).toEqual({ worker: { count: 2 } })
  })

  it('plans a spec on stdin, looks and releases, reading YAML', async () => {
    await begin()
    const yaml = `cluster: ${cluster}
kubernetes: { context: prod }
machines: { provider: simulated, url: "http://127.0.0.1:9" }
pools:
  worker: { offering: large } # two machines
rollout: true
`
    const env = { NODEROLL_TASK_QUEUE: taskQueue }

    const plan = await bed.run(['plan', '--file', '-'], env, yaml)
    const status = await bed.run(['status', '-f', '-', '-o', 'json', '--page', '1'], env, yaml)
    const release = await bed.run(['release', '-f', '-', '--take-over', 'server/ns/id/run'], env, yaml)

    expect(plan).toMatchObject({ code: 0, stderr: '' })
    expect(plan.stdout).toContain(`${cluster}: 2 nodes in 2 batches`)
    expect(plan.stdout).toContain('w-1: offering small, not large')
    expect(status.code).toBe(0)
    expect(JSON.parse(status.stdout)).toMatchObject({ cluster, state: 'Running', nextPage: null })
    expect(release).toMatchObject({ code: 0 })
    expect(release.stdout).toContain(`${cluster}: released; the cluster is Running`)
    const watch = await noderoll('watch', cluster, '--workflow-id', `cluster-release/${cluster}`)
    expect(watch).toMatchObject({
      code: 6,
      stderr: `noderoll: workflow cluster-release/${cluster} is no rollout; name the id of one\n`,
    })
  })

  it('plan tells by its code that a spec would be refused', async () => {
    await begin()
    await worker.stop()
    worker = await StubWorker.start({
      ...temporal,
      taskQueue,
      activities: {
        readPlan: async () => ({
          cluster,
          batches: [],
          batchCount: 0,
          nodeCount: 0,
          startsStopped: [],
          skipped: [],
          notes: [],
          warnings: [],
          refusals: ['w-1 has no machine'],
          pools: [],
        }),
      },
    })

    const plan = await noderoll('plan', '--file', file)

    expect(plan.code).toBe(3)
    expect(plan.stdout).toContain('refused: w-1 has no machine')
  })

  it('a failed rollout: its sentence on stderr, what it got to on stdout', async () => {
    await begin({ drainNode: refusing('DrainBlocked', 'w-1 is blocked by the budget shop/web') })

    const { code, stdout, stderr } = await noderoll('start', '--file', file, '--watch')

    expect(code).toBe(1)
    expect(stderr).toContain('w-1 is blocked by the budget shop/web')
    expect(stderr).not.toContain('    at ')
    expect(stdout).toContain(`${cluster}: failed, 0 nodes rolled`)
  })

  it.each([
    ['refused settings', 'SettingsRefused', 3],
    ['a cluster that is held', 'ClusterBusy', 3],
    ['a spec that only the worker can refuse', 'InvalidSpec', 2],
  ])('%s have an exit code of their own', async (_, type, code) => {
    await begin({ checkSettings: refusing(type, 'because of this') })

    expect(await noderoll('start', '--file', file, '--watch')).toMatchObject({
      code,
      stderr: 'noderoll: because of this\n',
    })
  })

  it('waits for a worker that is not there yet, and says so', async () => {
    await begin()
    await worker.stop()
    const watching = bed.start(['start', '-f', file, '-w'], { NODEROLL_TASK_QUEUE: `${taskQueue}-2` })
    await watching.said('no worker is on the task queue', 'stderr')

    worker = await StubWorker.start({ ...temporal, taskQueue: `${taskQueue}-2` })

    expect(await watching.ended).toMatchObject({ code: 0 })
  })
})
