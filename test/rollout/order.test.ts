import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { PlanReport } from '../../src/api/activities.js'
import type { Progress } from '../../src/core/progress.js'
import { AvailabilityWatch, cordon, isCordoned, labelNodes, nodeWrites } from '../support/batch-nodes.js'
import { marksOf, RolloutBed } from '../support/rollout-bed.js'
import { waitUntil } from '../support/wait.js'

const ETCD = { select: { machines: ['e-1', 'e-2', 'e-3'] }, offering: 'large' }

describe('the order of a rollout', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
    bed.keepsWorker = true
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  /** The machines in the order in which they were stopped. */
  function stops(): string[] {
    return bed
      .acts()
      .filter((act) => act.startsWith('stop '))
      .map((act) => act.slice('stop '.length))
  }

  /** At each stop, the machines that did not run: nobody else may be down when one goes alone. */
  function downAtEachStop(): string[][] {
    const seen: string[][] = []
    bed.cluster.cloud.onRequest(
      { call: 'stop' },
      () => {
        const down = bed.cluster.machines.filter(({ power }) => power !== 'running')
        seen.push(down.map(({ name }) => name))
      },
      'arrival',
    )
    return seen
  }

  it('CKS-08 rolls external etcd, then control, then workers, pool after pool in the order of the spec', async () => {
    await bed.startCluster({ control: 3, etcd: 3, workers: 3 })
    await labelNodes(bed, ['w-1', 'w-2'], { tier: 'blue' })
    await labelNodes(bed, ['w-3'], { tier: 'green' })
    const down = downAtEachStop()
    await bed.startWorker()

    const end = await bed.roll({
      pools: {
        green: { type: 'worker', select: { labels: { tier: 'green' } }, offering: 'large' },
        blue: { type: 'worker', select: { labels: { tier: 'blue' } }, offering: 'large' },
        control: { offering: 'large' },
        etcd: ETCD,
      },
    })

    expect(end).toMatchObject({ kind: 'completed', result: { state: 'Running', done: { count: 9 } } })
    // e-1 leads at first.
    expect(stops()).toEqual(['e-2', 'e-3', 'e-1', 'c-1', 'c-2', 'c-3', 'w-3', 'w-1', 'w-2'])
    expect(down.flat()).toEqual([])
    expect((await bed.nodes()).filter((node) => isCordoned(node) || marksOf(node).length > 0)).toEqual([])
  })

  it('CKS-08, CKS-18 rolls stacked control nodes one at a time, each only when the etcd member before is a healthy voter again', async () => {
    await bed.startCluster({ control: 3, workers: 1 })
    const { cloud } = bed.cluster
    for (const name of ['c-1', 'c-2', 'c-3']) {
      const { etcd } = cloud.machine(name)
      if (etcd !== null) etcd.joinMs = 700
    }
    const joined = () =>
      bed.cluster.machines.filter(
        ({ etcd, upSince }) => etcd !== null && upSince !== null && Date.now() >= upSince + etcd.joinMs,
      ).length
    // The first of those that are there when etcd is first asked leads.
    await waitUntil(() => joined() === 3, { for: 'three members' })
    const down = downAtEachStop()
    const ups: number[] = []
    cloud.onRequest({ call: 'stop' }, () => void ups.push(joined()), 'arrival')
    await bed.startWorker()

    const end = await bed.roll({ pools: { control: { offering: 'large' }, worker: { offering: 'large' } } })

    expect(end).toMatchObject({ kind: 'completed', result: { state: 'Running' } })
    // c-1 leads at first.
    expect(stops()).toEqual(['c-2', 'c-3', 'c-1', 'w-1'])
    expect(down.flat()).toEqual([])
    expect(ups).toEqual([3, 3, 3, 3])
  })

  it('CKS-09 takes maxUnavailable workers at a time and never more', async () => {
    await bed.startCluster({ workers: 5 })
    const watch = await AvailabilityWatch.start(bed)
    await bed.startWorker()

    const handle = await bed.start(bed.spec({ pools: { worker: { offering: 'large', maxUnavailable: 2 } } }))
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({ kind: 'completed', result: { done: { count: 5 } } })
    expect(await watch.stop()).toHaveLength(2)
    expect((await handle.query<Progress>('progress')).batch?.number).toBe(3)
    expect((await handle.query<PlanReport>('plan')).batches.map(({ nodes }) => nodes.length)).toEqual([
      2, 2, 1,
    ])
  })

  it.each<[number, number, number | string, string | null]>([
    [2, 5, '50%', null],
    [1, 3, '10%', 'maxUnavailable 10% (0) becomes 1 of 3 workers'],
    [2, 3, 7, 'maxUnavailable 7 becomes 2 of 3 workers'],
    [1, 1, 2, 'maxUnavailable 2 becomes 1 of 1 workers'],
  ])(
    'CKS-09 takes %s of %s workers for maxUnavailable %s and says a clamp in plan and progress',
    async (atOnce, workers, maxUnavailable, said) => {
      await bed.startCluster({ workers })
      const watch = await AvailabilityWatch.start(bed)
      await bed.startWorker()

      const handle = await bed.start(bed.spec({ pools: { worker: { offering: 'large', maxUnavailable } } }))
      const end = await bed.endOf(handle)

      expect(end).toMatchObject({ kind: 'completed', result: { done: { count: workers } } })
      expect(await watch.stop()).toHaveLength(atOnce)
      const notes = said === null ? [] : [`pool worker: ${said}`]
      expect((await handle.query<PlanReport>('plan')).notes).toEqual(notes)
      expect((await handle.query<Progress>('progress')).notes).toEqual(notes)
    },
  )

  it('CKS-09 counts nodes that are unavailable already, cordoned by others too', async () => {
    await bed.startCluster({ workers: 4 })
    bed.cluster.cloud.machine('w-4').offering = 'large'
    await cordon(bed, 'w-4')
    const watch = await AvailabilityWatch.start(bed)
    await bed.startWorker()

    const end = await bed.roll({ pools: { worker: { offering: 'large', maxUnavailable: 2 } } })

    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1', 'w-2', 'w-3'] } } })
    expect(await watch.stop()).toHaveLength(2)
    expect(isCordoned(await bed.node('w-4'))).toBe(true)
  })

  it('CKS-09 lets one node go though more than maxUnavailable are cordoned', async () => {
    await bed.startCluster({ workers: 3 })
    for (const name of ['w-2', 'w-3']) {
      bed.cluster.cloud.machine(name).offering = 'large'
      await cordon(bed, name)
    }
    await bed.startWorker()

    const end = await bed.roll({ pools: { worker: { offering: 'large', maxUnavailable: 1 } } })

    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1'] } } })
  })

  it('CKS-10 finds out of date what differs in offering, root disk or groups, and changes only what differs', async () => {
    await bed.startCluster({ workers: 5 })
    const { cloud } = bed.cluster
    const [spreadA, , dedicated] = cloud.state.affinityGroups
    if (spreadA === undefined || dedicated === undefined) throw new Error('the cloud lacks groups')
    for (const name of ['w-2', 'w-3', 'w-4', 'w-5']) cloud.machine(name).offering = 'large'
    for (const name of ['w-1', 'w-3', 'w-4', 'w-5']) cloud.machine(name).rootDiskGiB = 80
    for (const name of ['w-1', 'w-2', 'w-4']) cloud.machine(name).affinityGroups = [spreadA]
    // The second choice of the list is up to date as well; a dedication is not compared.
    Object.assign(cloud.machine('w-5'), { offering: 'huge', affinityGroups: [spreadA, dedicated] })
    const before = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll({
      pools: {
        worker: { offering: ['large', 'huge'], rootDiskGiB: 80, affinityGroups: ['spread-a'] },
      },
    })

    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1', 'w-2', 'w-3'] } } })
    expect(bed.acts()).toEqual([
      ...['stop w-1', 'setOffering w-1', 'start w-1'],
      ...['stop w-2', 'growRootDisk w-2', 'start w-2'],
      ...['stop w-3', 'setAffinityGroups w-3', 'start w-3'],
    ])
    expect(await nodeWrites(bed, before, 'w-4')).toEqual([])
    expect(await nodeWrites(bed, before, 'w-5')).toEqual([])
  })
})
