import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { PlanReport } from '../../src/api/activities.js'
import { setMaxUnavailableUpdate } from '../../src/api/messages.js'
import type { Progress } from '../../src/core/progress.js'
import type { Fault } from '../../src/simulation/faults.js'
import { AvailabilityWatch, eventsOn, isCordoned, untilEvent } from '../support/batch-nodes.js'
import { podsOf, runWorkload } from '../support/batch-pods.js'
import { CLUSTER, marksOf, RolloutBed } from '../support/rollout-bed.js'
import { runsFrom } from '../support/started-workflows.js'
import { startTemporal } from '../support/temporal.js'

const CHANGE = { offering: 'large', rootDiskGiB: 80, affinityGroups: ['spread-a'] }
const ACTS = ['stop', 'setOffering', 'growRootDisk', 'setAffinityGroups', 'start'] as const
const METADATA_QUERY = '__temporal_workflow_metadata'

describe('a rollout that succeeds', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
    bed.keepsWorker = true
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  it('CKS-17 stops, sets offering, grows the disk, sets the groups and starts each machine once, in that order', async () => {
    await bed.startCluster({ workers: 2 })
    await bed.startWorker()

    const end = await bed.roll({ pools: { worker: CHANGE } })

    expect(end).toMatchObject({
      kind: 'completed',
      result: { outcome: 'done', state: 'Running', done: { names: ['w-1', 'w-2'] } },
    })
    expect(bed.acts()).toEqual(['w-1', 'w-2'].flatMap((name) => ACTS.map((act) => `${act} ${name}`)))
    for (const node of await bed.nodes()) {
      expect(marksOf(node)).toEqual([])
      expect(node.spec.unschedulable ?? false).toBe(false)
    }
  })

  it('CKS-17 changes a machine only while it is off, and never twice', async () => {
    await bed.startCluster({ workers: 2, delays: { stopMs: 200, changeMs: 100, startMs: 200 } })
    const live: string[] = []
    for (const call of ['setOffering', 'growRootDisk', 'setAffinityGroups'] as const) {
      bed.cluster.cloud.onRequest(
        { call },
        ({ machine }) => {
          if (bed.cluster.cloud.machine(machine ?? '').power !== 'stopped') live.push(`${call} ${machine}`)
        },
        'arrival',
      )
    }
    await bed.startWorker()

    const end = await bed.roll({ pools: { worker: CHANGE } })

    expect(end).toMatchObject({ kind: 'completed', result: { done: { count: 2 } } })
    expect(live).toEqual([])
    expect(bed.acts(false)).toEqual(bed.acts())
    expect(bed.acts()).toHaveLength(10)
  })

  it.each<[string, Fault['effect']]>([
    ['its answer is lost', { kind: 'answerLost' }],
    ['its operation is forgotten', { kind: 'operationForgotten' }],
    ['it takes effect later', { kind: 'delay', ms: 300 }],
    ['the provider fails once', { kind: 'status', status: 500 }],
    ['the provider throttles', { kind: 'status', status: 429, retryAfterSeconds: 1 }],
    ['the machine is busy', { kind: 'status', status: 409, code: 'OperationInProgress' }],
  ])(
    'CKS-17 does each act exactly once with effect, and in order, though at each call %s',
    async (_situation, effect) => {
      await bed.startCluster({ workers: 1 })
      for (const call of ACTS) bed.cluster.cloud.faults.add({ call, effect, count: 1 })
      await bed.startWorker()

      const end = await bed.roll({ pools: { worker: CHANGE } })

      expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1'] }, state: 'Running' } })
      expect(bed.acts()).toEqual(ACTS.map((act) => `${act} w-1`))
      expect(marksOf(await bed.node('w-1'))).toEqual([])
    },
  )

  it('K3 moves the pods of each node elsewhere, gives every node back and tells it in events', async () => {
    await bed.startCluster({ workers: 2 })
    await runWorkload(bed.kube.api, 'Deployment', 'web', { on: { 'kubernetes.io/os': 'linux' }, replicas: 2 })
    await bed.startWorker()

    const end = await bed.roll({ pools: { worker: { offering: 'large' } } })

    expect(end).toMatchObject({
      kind: 'completed',
      result: {
        warnings: [],
        failed: [],
        skipped: [],
        capacity: { machines: 2, cpu: 8, memoryMiB: 16_384 },
        pools: [{ pool: 'worker', machines: 2, outOfDate: 0, unavailable: 0 }],
      },
    })
    expect(await podsOf(bed.kube.api, 'web')).toHaveLength(2)
    for (const name of ['w-1', 'w-2']) {
      expect(isCordoned(await bed.node(name))).toBe(false)
      await untilEvent(bed, name, 'NoderollGivenBack')
      expect(await eventsOn(bed, name)).toContain('NoderollVerified')
    }
  })

  it('CKS-09 takes another maxUnavailable from the next batch on, says what is in force, and refuses what it cannot read', async () => {
    await bed.startCluster({ workers: 5 })
    const watch = await AvailabilityWatch.start(bed)
    const said: unknown[] = []
    const refused: string[] = []
    const unsubscribe = bed.cluster.cloud.onRequest({ call: 'stop' }, async () => {
      unsubscribe()
      const handle = bed.client.workflow.getHandle(`cluster-rollout/${CLUSTER}`)
      for (const bad of [
        { maxUnavailable: 0 },
        { maxUnavailable: '200%' },
        { pool: 'blue', maxUnavailable: 1 },
      ]) {
        await handle
          .executeUpdate(setMaxUnavailableUpdate, { args: [bad] })
          .catch((error: Error) => refused.push(String(error.cause)))
      }
      said.push(await handle.executeUpdate(setMaxUnavailableUpdate, { args: [{ maxUnavailable: 9 }] }))
      said.push(await handle.executeUpdate(setMaxUnavailableUpdate, { args: [{ maxUnavailable: '40%' }] }))
    })
    await bed.startWorker()

    const handle = await bed.start(bed.spec({ pools: { worker: { offering: 'large' } } }))
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({ kind: 'completed', result: { done: { count: 5 } } })
    expect(refused).toEqual([
      expect.stringContaining('must be an integer of at least 1 or a percentage'),
      expect.stringContaining('must be an integer of at least 1 or a percentage'),
      expect.stringContaining('there is no worker pool blue'),
    ])
    expect(said).toEqual([
      { inForce: 'pool worker: maxUnavailable 9 becomes 4 of 5 workers; from the next batch on' },
      { inForce: 'pool worker: 2 of 5 workers; from the next batch on' },
    ])
    expect(await watch.stop()).toHaveLength(2)
    // One alone, then two and two.
    expect((await handle.query<Progress>('progress')).batch?.number).toBe(3)
  })

  it('CKS-06 answers progress and plan, and shows the nodes in Temporal, while it runs and after it has ended', async () => {
    await bed.startCluster({ workers: 2 })
    const during: { progress: Progress; details: string }[] = []
    const unsubscribe = bed.cluster.cloud.onRequest({ call: 'stop', machine: 'w-1' }, async () => {
      unsubscribe()
      const handle = bed.client.workflow.getHandle(`cluster-rollout/${CLUSTER}`)
      const { currentDetails } = await handle.query<{ currentDetails: string }>(METADATA_QUERY)
      during.push({ progress: await handle.query<Progress>('progress'), details: currentDetails })
    })
    await bed.startWorker()

    const handle = await bed.start(bed.spec({ pools: { worker: { offering: 'large' } } }))
    await bed.endOf(handle)

    expect(during).toMatchObject([
      {
        progress: {
          cluster: CLUSTER,
          phase: 'rolling',
          batch: { number: 1, pool: 'worker', recovery: false },
          nodes: [{ node: 'w-1', pool: 'worker', step: 'stop', waitsFor: [] }],
          pools: [{ pool: 'worker', machines: 2, outOfDate: 2 }],
          done: { count: 0 },
        },
        details: expect.stringMatching(
          /\*\*prod\*\*: rolling, batch 1 \(worker\), 0 nodes done[\s\S]*\| w-1\s+\| stop\s+\|/,
        ),
      },
    ])
    expect(await handle.query<Progress>('progress')).toMatchObject({
      phase: 'ended',
      done: { count: 2, names: ['w-1', 'w-2'] },
      lastError: null,
    })
    expect(await handle.query<PlanReport>('plan')).toMatchObject({
      batchCount: 2,
      nodeCount: 2,
      batches: [{ nodes: ['w-1: offering small → large'] }, { nodes: ['w-2: offering small → large'] }],
    })
    const { currentDetails } = await handle.query<{ currentDetails: string }>(METADATA_QUERY)
    expect(currentDetails).toContain('**prod**: ended')
  })
})

describe('a rollout that outgrows its history', () => {
  it('CKS-22 continues as new between two batches with what it was told, under the same Lease', async () => {
    const temporal = await startTemporal({ suggestContinueAsNew: 60 })
    const bed = await RolloutBed.open(temporal)
    onTestFinished(async () => {
      await bed.clean()
      await bed.close()
      await temporal.stop()
    })
    await bed.startCluster({ workers: 4 })
    const holders = new Set<string | null>()
    const told: string[] = []
    bed.cluster.cloud.onRequest({ call: 'stop' }, async ({ machine }) => {
      holders.add(await bed.leaseHolder())
      const handle = bed.client.workflow.getHandle(`cluster-rollout/${CLUSTER}`)
      if (told.length === 0)
        await handle.executeUpdate(setMaxUnavailableUpdate, { args: [{ maxUnavailable: 2 }] })
      told.push(machine ?? '')
    })
    await bed.startWorker()

    const handle = await bed.start(bed.spec({ pools: { worker: { offering: 'large' } } }))
    const { firstExecutionRunId = '' } = handle as unknown as { firstExecutionRunId?: string }
    const end = await bed.endOf(handle)

    const runs = await runsFrom(bed.client, handle.workflowId, firstExecutionRunId)
    const progress = await handle.query<Progress>('progress')
    const plan = await handle.query<PlanReport>('plan')

    expect(runs.length).toBeGreaterThan(1)
    expect(end).toMatchObject({
      kind: 'completed',
      result: { done: { count: 4 }, state: 'Running' },
    })
    expect(told.toSorted()).toEqual(['w-1', 'w-2', 'w-3', 'w-4'])
    expect([...holders]).toEqual([expect.stringContaining(firstExecutionRunId)])
    // w-1 alone, then two and one: the override has come along.
    expect(progress).toMatchObject({ batch: { number: 3 }, done: { count: 4 } })
    expect(plan.batchCount).toBe(4)
  })
})
