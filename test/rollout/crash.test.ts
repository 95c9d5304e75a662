import type { WorkflowHandle } from '@temporalio/client'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { untilEvent } from '../support/batch-nodes.js'
import { FaultProxy, type ProxiedRequest, pass } from '../support/proxy.js'
import { CLUSTER, marksOf, RolloutBed } from '../support/rollout-bed.js'
import { waitUntil } from '../support/wait.js'
import type { WorkerProcess } from '../support/worker-process.js'

const LARGE = { worker: { offering: 'large' } }
const LEASE = /\/leases(\/noderoll)?(\?|$)/
const RECORD = /\/configmaps(\/noderoll)?(\?|$)/

const isWrite = (request: ProxiedRequest) => request.method === 'POST' || request.method === 'PUT'

describe('rollouts whose worker or workflow dies', () => {
  let bed: RolloutBed
  let proxy: FaultProxy

  beforeAll(async () => {
    bed = await RolloutBed.open()
    proxy = await FaultProxy.start({ url: bed.kube.url, ca: bed.kube.access.ca })
  })
  afterEach(async () => {
    await bed.clean()
    await proxy.reset()
    await bed.reachThrough(null)
  })
  afterAll(async () => {
    await proxy.stop()
    await bed.close()
  })

  async function expectAllRolled(names: readonly string[]): Promise<void> {
    expect(bed.acts(false)).toEqual(
      names.flatMap((name) => [`stop ${name}`, `setOffering ${name}`, `start ${name}`]),
    )
    for (const node of await bed.nodes()) {
      expect([node.metadata.name, marksOf(node), node.spec.unschedulable ?? false]).toEqual([
        node.metadata.name,
        [],
        false,
      ])
    }
    expect(await bed.record()).toMatchObject({ state: 'Running' })
    expect(await bed.leaseHolder()).toBeNull()
  }

  // The writes of begin, in order: the Lease, Updating, the settings.
  const BEGIN_WRITES = [
    { what: 'the Lease is taken', matches: (request: ProxiedRequest) => LEASE.test(request.path), nth: 1 },
    { what: 'Updating is set', matches: (request: ProxiedRequest) => RECORD.test(request.path), nth: 1 },
    {
      what: 'the settings are stored',
      matches: (request: ProxiedRequest) => RECORD.test(request.path),
      nth: 2,
    },
  ]

  /** Runs `then` once the n-th write of a kind has been carried out, before anybody hears of it. */
  function onWrite({ matches, nth }: (typeof BEGIN_WRITES)[number], then: () => void): Promise<unknown> {
    let seen = 0
    const rule = proxy.on(
      (request) => isWrite(request) && matches(request) && ++seen === nth,
      () => pass({ onResponse: then }),
      { times: 1 },
    )
    return rule.hit
  }

  it.each(BEGIN_WRITES)(
    'CKS-24 the worker is killed the moment $what: the next one finishes the rollout',
    async (write) => {
      await bed.startCluster({ workers: 2 })
      await bed.reachThrough(proxy)
      const doomed = await bed.startWorkerProcess()
      const killed = onWrite(write, () => doomed.kill())

      const handle = await bed.start(bed.spec({ pools: LARGE }))
      await killed
      await bed.startWorkerProcess()
      const end = await bed.endOf(handle)

      expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done' } })
      await expectAllRolled(['w-1', 'w-2'])
    },
  )

  it.each(BEGIN_WRITES)(
    'CKS-24 the workflow is terminated the moment $what: the next rollout puts things right',
    async (write) => {
      await bed.startCluster({ workers: 1 })
      await bed.reachThrough(proxy)
      const doomed = await bed.startWorkerProcess()
      const killed = onWrite(write, () => doomed.kill())
      const first = await bed.start(bed.spec({ pools: LARGE }))
      await killed
      await first.terminate('the operator gave up on it')
      await bed.startWorkerProcess()

      const end = await bed.endOf(await bed.start(bed.spec({ pools: LARGE })))

      expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', state: 'Running' } })
      await expectAllRolled(['w-1'])
    },
  )

  it('CKS-24 kill -9 in the middle of a rollout, at every step of a node: each machine is stopped and started once', async () => {
    await bed.startCluster({ workers: 5, delays: { stopMs: 200, startMs: 200, changeMs: 100, bootMs: 200 } })
    const calls = ['stop', 'setOffering', 'start'] as const
    const kills = [
      ...calls.map((call, index) => ({ call, machine: `w-${index + 1}`, at: 'answer' as const })),
      { call: 'stop' as const, machine: 'w-4', at: 'arrival' as const },
    ]
    let current: WorkerProcess = await bed.startWorkerProcess()
    for (const { call, machine, at } of kills) {
      const off = bed.cluster.cloud.onRequest(
        { call, machine },
        async () => {
          off()
          current.kill()
          current = await bed.startWorkerProcess()
        },
        at,
      )
    }

    const end = await bed.endOf(await bed.start(bed.spec({ pools: LARGE, batchTimeout: '120s' })))

    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', done: { count: 5 } } })
    const effective = (act: string) => bed.acts().filter((one) => one.startsWith(`${act} `))
    expect(effective('stop')).toEqual(['stop w-1', 'stop w-2', 'stop w-3', 'stop w-4', 'stop w-5'])
    expect(effective('start')).toEqual(['start w-1', 'start w-2', 'start w-3', 'start w-4', 'start w-5'])
    for (const node of await bed.nodes()) expect(marksOf(node)).toEqual([])
  }, 180_000)

  it('CKS-24 no worker for longer than a step may take: the rollout goes on where it was', async () => {
    await bed.startCluster({ workers: 1 })
    const doomed = await bed.startWorkerProcess()
    const off = bed.cluster.cloud.onRequest(
      { call: 'start', machine: 'w-1' },
      async () => doomed.kill(),
      'answer',
    )
    const handle = await bed.start(bed.spec({ pools: LARGE, machineTimeout: '5s', batchTimeout: '120s' }))
    const timedOut = async () => {
      const { events = [] } = await handle.fetchHistory()
      return (events ?? []).some((event) => event.activityTaskTimedOutEventAttributes != null)
    }
    await waitUntil(timedOut, { for: 'the start to be timed out', timeoutMs: 60_000, everyMs: 200 })
    off()

    await bed.startWorkerProcess()
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', failed: [] } })
    await expectAllRolled(['w-1'])
  })

  it('CKS-24 a running rollout reset to each of its batches restarts no node twice', async () => {
    await bed.startCluster({ workers: 4 })
    await bed.startWorker()
    const letGoOf = { 'w-2': holdStopOf('w-2'), 'w-3': holdStopOf('w-3') }
    const handle = await bed.start(bed.spec({ pools: LARGE }))
    let current: WorkflowHandle = handle

    for (const [batch, node] of [
      [2, 'w-2'],
      [3, 'w-3'],
    ] as const) {
      const event = await waitUntil(() => startOfBatch(current, batch), {
        for: `batch ${batch}`,
        timeoutMs: 60_000,
      })
      current = await reset(current, event)
      letGoOf[node]()
    }
    const end = await bed.endOf(current)

    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', state: 'Running' } })
    const stops = bed.acts(false).filter((act) => act.startsWith('stop'))
    expect(stops).toEqual(['stop w-1', 'stop w-2', 'stop w-3', 'stop w-4'])
    expect(await bed.leaseHolder()).toBeNull()
  })

  it('CKS-24 a reset into the middle of a batch finds its node done and restarts nothing', async () => {
    await bed.startCluster({ workers: 2 })
    await bed.startWorker()
    const letGo = holdStopOf('w-2')
    const handle = await bed.start(bed.spec({ pools: LARGE }))
    const event = await waitUntil(() => afterActivity(handle, 'cordonNodes', 1), {
      for: 'the cordon of batch 1',
    })
    await waitUntil(() => afterActivity(handle, 'verifyNode', 1), {
      for: 'batch 1 to end',
      timeoutMs: 30_000,
    })

    const again = await reset(handle, event)
    letGo()
    const end = await bed.endOf(again)

    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', state: 'Running' } })
    expect(bed.acts(false).filter((act) => act.startsWith('stop'))).toEqual(['stop w-1', 'stop w-2'])
  })

  it('CKS-24 a rollout that has ended and is reset acts on nothing: it no longer holds the Lease', async () => {
    await bed.startCluster({ workers: 2 })
    await bed.startWorker()
    const handle = await bed.start(bed.spec({ pools: LARGE }))
    await handle.result()
    await untilEvent(bed, 'w-2', 'NoderollGivenBack')
    const acts = bed.acts(false)
    const mark = await bed.kube.audit.mark()
    const event = await startOfBatch(handle, 2)

    const end = await bed.endOf(await reset(handle, event ?? 0))

    expect(end).toMatchObject({ kind: 'failed', type: 'LeaseLost' })
    expect(bed.acts(false)).toEqual(acts)
    await bed.kube.audit.settled()
    expect(await bed.kube.audit.writes(mark, 'noderoll')).toEqual([])
  })

  /** The stop of this machine is not taken before that is called: the rollout does not end before it is reset. */
  function holdStopOf(machine: string): () => void {
    let letGo: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    bed.cluster.cloud.onRequest({ call: 'stop', machine }, () => held, 'arrival')
    return letGo
  }

  /** Event id of the workflow task that chose batch `number`. */
  function startOfBatch(handle: WorkflowHandle, number: number): Promise<number | undefined> {
    return afterActivity(handle, number === 1 ? 'readPlan' : 'verifyNode', number === 1 ? 1 : number - 1)
  }

  /** Event id of the workflow task completed after the n-th activity of a type. */
  async function afterActivity(
    handle: WorkflowHandle,
    type: string,
    nth: number,
  ): Promise<number | undefined> {
    const { events = [] } = await bed.client.workflow.getHandle(handle.workflowId).fetchHistory()
    const scheduled = (events ?? []).filter(
      (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === type,
    )
    const id = scheduled[nth - 1]?.eventId
    if (id === undefined) return undefined
    const done = (events ?? []).findIndex(
      (event) => String(event.activityTaskCompletedEventAttributes?.scheduledEventId) === String(id),
    )
    if (done < 0) return undefined
    const task = (events ?? [])
      .slice(done)
      .find((event) => event.workflowTaskCompletedEventAttributes != null)
    return task === undefined ? undefined : Number(task.eventId)
  }

  async function reset(handle: WorkflowHandle, eventId: number): Promise<WorkflowHandle> {
    const { runId } = await bed.client.workflowService.resetWorkflowExecution({
      namespace: bed.namespace,
      workflowExecution: { workflowId: handle.workflowId },
      workflowTaskFinishEventId: eventId as never,
      reason: 'a test',
      requestId: crypto.randomUUID(),
    })
    return bed.client.workflow.getHandle(`cluster-rollout/${CLUSTER}`, runId ?? undefined)
  }
})
