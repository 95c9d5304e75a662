import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { PlanReport } from '../../src/api/activities.js'
import { found, isCordoned } from '../support/batch-nodes.js'
import { PODS, podsOf, runWorkload } from '../support/batch-pods.js'
import { marksOf, RolloutBed } from '../support/rollout-bed.js'
import { waitUntil } from '../support/wait.js'
import { WorkerPods } from '../support/worker-pods.js'

describe('a rollout by a worker that runs in the cluster', () => {
  let bed: RolloutBed
  let workers: WorkerPods

  beforeAll(async () => {
    bed = await RolloutBed.open()
  })
  afterEach(async () => {
    await workers.stop()
    await bed.clean()
  })
  afterAll(() => bed.close())

  /** One replica, on w-1 as long as w-1 takes pods. */
  async function startCluster(temporal?: string): Promise<void> {
    await bed.startCluster({ workers: 3 })
    // The scheduler passes by a node whose taint "not ready" is not gone yet.
    await found(bed)
    await runWorkload(bed.kube.api, 'Deployment', 'noderoll', {
      on: { 'kubernetes.io/os': 'linux' },
      preferred: 'w-1',
    })
    const placed = async () => {
      const pods = await podsOf(bed.kube.api, 'noderoll')
      // The scheduler hears of nodes and of pods one by one: it may not know yet that w-1 takes pods.
      for (const { metadata, spec } of pods)
        if (spec.nodeName !== undefined && spec.nodeName !== 'w-1')
          await bed.kube.api.call('DELETE', `${PODS}/${metadata.name}`)
      return pods.length === 1 && pods[0]?.spec.nodeName === 'w-1'
    }
    await waitUntil(placed, { for: 'the worker on w-1' })
    workers = await WorkerPods.start(bed, 'noderoll', temporal)
    expect(workers.startedOn).toEqual(['w-1'])
  }

  const POOLS = { worker: { offering: 'large' } }

  it('CKS-24, CKS-22 the only worker is killed by the drain of its own node, which goes last; another one finishes with one stop and one start', async () => {
    await startCluster()

    const end = await bed.roll({ pools: POOLS, selfHosted: true, batchTimeout: '120s' })

    expect(end).toMatchObject({ kind: 'completed', result: { state: 'Running', done: { count: 3 } } })
    expect(bed.acts()).toEqual(
      ['w-2', 'w-3', 'w-1'].flatMap((name) => [`stop ${name}`, `setOffering ${name}`, `start ${name}`]),
    )
    expect(workers.killedOn).toEqual(['w-1'])
    expect(workers.startedOn).toEqual(['w-1', expect.stringMatching(/^w-[23]$/)])
    for (const node of await bed.nodes()) expect([isCordoned(node), marksOf(node)]).toEqual([false, []])
  }, 180_000)

  it('CKS-24 is refused, and so is its plan, unless the spec says that it may stand still; nothing is written', async () => {
    await startCluster()
    const position = await bed.kube.audit.mark()

    const plan = await (await bed.startType('planRollout', bed.spec({ pools: POOLS }))).result()
    const end = await bed.roll({ pools: POOLS })

    const why = 'selfHosted: every worker of noderoll (1) runs on node w-1, which is to be rolled'
    expect((plan as PlanReport).refusals).toEqual([expect.stringContaining(why)])
    expect(end).toMatchObject({ kind: 'failed', message: expect.stringContaining(why) })
    await bed.kube.audit.settled()
    expect(await bed.kube.audit.writes(position, 'noderoll')).toEqual([])
    expect(bed.acts(false)).toEqual([])
  }, 60_000)

  it('CKS-24 is refused where Temporal is a Service of the very cluster, though the worker’s own node is not rolled; nothing is written', async () => {
    await startCluster('temporal-frontend.temporal.svc.cluster.local:7233')
    bed.cluster.cloud.machine('w-1').offering = 'large'
    const position = await bed.kube.audit.mark()

    const plan = await (await bed.startType('planRollout', bed.spec({ pools: POOLS }))).result()
    const end = await bed.roll({ pools: POOLS })

    const why =
      'selfHosted: Temporal (temporal-frontend.temporal.svc.cluster.local) runs in the cluster that is to be rolled'
    expect((plan as PlanReport).refusals).toEqual([expect.stringContaining(why)])
    expect(end).toMatchObject({ kind: 'failed', message: expect.stringContaining(why) })
    await bed.kube.audit.settled()
    expect(await bed.kube.audit.writes(position, 'noderoll')).toEqual([])
    expect(bed.acts(false)).toEqual([])
  }, 60_000)
})
