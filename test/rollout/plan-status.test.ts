import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { ClusterStatus, PlanReport } from '../../src/api/activities.js'
import { MARK_KEYS } from '../../src/core/marks.js'
import type { RolloutRequest } from '../../src/spec/schema.js'
import { CLUSTER, RolloutBed } from '../support/rollout-bed.js'
import { pausedRollout, writesSince } from '../support/story-world.js'
import { waitUntil } from '../support/wait.js'

const CONFIG_MAP = '/api/v1/namespaces/kube-system/configmaps/noderoll'
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/noderoll'
const NAMES = Array.from({ length: 120 }, (_, index) => `e-${index + 1}`)

let bed: RolloutBed

beforeAll(async () => {
  bed = await RolloutBed.open()
  bed.keepsWorker = true
})
afterEach(() => bed.clean())
afterAll(() => bed.close())

async function answerOf<T>(type: string, input: unknown): Promise<T> {
  const end = await bed.endOf(await bed.startType(type, input))
  if (end.kind !== 'completed') throw new Error(`${type} ${end.kind}: ${end.message}`)
  return end.result as unknown as T
}

const planOf = (changes: Partial<RolloutRequest>) => answerOf<PlanReport>('planRollout', bed.spec(changes))
const statusOf = (page?: number) =>
  answerOf<ClusterStatus>('clusterStatus', { ...bed.target(), ...(page === undefined ? {} : { page }) })

describe('planRollout', () => {
  it('CKS-08 names the batches in order with their reasons, and reads only', async () => {
    await bed.startCluster({ control: 3, workers: 3, etcd: 3 })
    await bed.startWorker()
    const start = await bed.kube.audit.mark()
    const etcd = { select: { machines: ['e-1', 'e-2', 'e-3'] }, rootDiskGiB: 60 }

    const plan = await planOf({
      pools: { worker: { offering: 'large', maxUnavailable: 2 }, control: { offering: 'huge' }, etcd },
    })

    const one = (pool: string, why: string, ...names: string[]) => ({
      pool,
      recovery: false,
      nodes: names.map((name) => `${name}: ${why}`),
    })
    expect(plan.batches).toEqual([
      // e-1 leads and goes last.
      ...['e-2', 'e-3', 'e-1'].map((name) => one('etcd', 'root disk 50 → 60 GiB', name)),
      ...['c-1', 'c-2', 'c-3'].map((name) => one('control', 'offering small → huge', name)),
      one('worker', 'offering small → large', 'w-1', 'w-2'),
      one('worker', 'offering small → large', 'w-3'),
    ])
    expect(plan).toMatchObject({ cluster: CLUSTER, batchCount: 8, nodeCount: 9, skipped: [], refusals: [] })
    expect(plan.pools).toContainEqual({
      pool: 'worker',
      type: 'worker',
      machines: 3,
      outOfDate: 3,
      unavailable: 0,
    })
    expect(await writesSince(bed, start)).toEqual([])
    expect(bed.acts(false)).toEqual([])
    for (const path of [LEASE, CONFIG_MAP]) expect((await bed.kube.api.call('GET', path)).status).toBe(404)
  })

  it('CKS-09, CKS-11 says which machines it would start, which it would skip, and what it clamps', async () => {
    await bed.startCluster({ control: 1, workers: 3 })
    await bed.startWorker()
    await bed.roll({ rollout: false, pools: { control: { offering: 'large' }, worker: {} } })
    bed.cluster.cloud.act('w-3', { kind: 'stop' })
    await bed.cluster.cloud.untilMachine('w-3', 'is off', (machine) => machine.power === 'stopped')

    const plan = await planOf({ pools: { worker: { maxUnavailable: 5 } } })
    const left = await planOf({ startStopped: false })

    expect(plan).toMatchObject({
      startsStopped: ['w-3 (stopped)'],
      batches: [{ pool: 'worker', recovery: true, nodes: ['w-3: stopped'] }],
      skipped: [{ name: 'c-1', why: expect.stringContaining('cannot lose a node') }],
      notes: ['pool worker: maxUnavailable 5 becomes 2 of 3 workers'],
      refusals: [],
    })
    expect(left).toMatchObject({
      startsStopped: [],
      batches: [],
      skipped: [{ name: 'c-1' }, { name: 'w-3', why: 'stopped, and startStopped is false' }],
    })
  })

  it('CKS-00, CKS-02, CKS-04, CKS-14 names everything for which the rollout would be refused', async () => {
    await bed.startCluster({ control: 1, workers: 2 })
    await bed.startWorker()
    await bed.roll({ rollout: false, pools: { worker: {} } })
    await bed.kube.api.ok('PATCH', CONFIG_MAP, { data: { cluster: 'staging', identity: 'another' } })
    bed.cluster.cloud.setClusterOperation(CLUSTER, 'an upgrade')
    await bed.kube.api.ok('DELETE', '/api/v1/nodes/w-2')

    const noNode = 'machine w-2 is running and has no Node'
    const plan = await waitUntil(
      async () => {
        const plan = await planOf({
          pools: {
            control: { offering: 'large' },
            worker: { rootDiskGiB: 40, affinityGroups: ['dedicated'] },
          },
        })
        return plan.refusals.some((refusal) => refusal.includes(noNode)) && plan
      },
      { for: 'the worker to hear that a Node is gone' },
    )

    for (const says of [
      'the provider says: an upgrade',
      'known as staging, not prod',
      'identity another',
      noNode,
      'would put c-1 out of date',
      'would shrink the 50 GiB disk of w-1',
      'dedicated is an explicit dedication',
    ]) {
      expect(plan.refusals).toContainEqual(expect.stringContaining(says))
    }
  })

  it('CKS-02 says of a spec that only stores that it would only store', async () => {
    await bed.startCluster({ workers: 1 })
    await bed.startWorker()

    const plan = await planOf({ rollout: false, pools: { worker: { offering: 'large' } } })

    expect(plan.batches).toHaveLength(1)
    expect(plan.notes).toContainEqual(expect.stringContaining('rollout is false'))
  })

  it('CKS-08 names a hundred nodes at most, and counts them all', async () => {
    await bed.startCluster({ workers: 1, etcd: NAMES.length })
    await bed.startWorker()

    const plan = await planOf({
      pools: { worker: {}, etcd: { select: { machines: NAMES }, offering: 'large' } },
    })

    expect(plan).toMatchObject({ batchCount: 120, nodeCount: 120 })
    expect(plan.batches.flatMap((batch) => batch.nodes)).toHaveLength(100)
  })
})

describe('clusterStatus', () => {
  it('CKS-06 names settings, counts, state, holder, marks and lastError, and reads only', async () => {
    await bed.startCluster({ control: 3, workers: 2 })
    await bed.startWorker()
    await bed.roll({
      rollout: false,
      pools: { control: {}, worker: { offering: ['large', 'huge'], rootDiskGiB: 80 } },
    })
    await bed.kube.api.ok('PATCH', '/api/v1/nodes/w-2', {
      metadata: { annotations: { [MARK_KEYS.acting]: 'scribble' } },
      spec: { unschedulable: true },
    })
    const rollout = await pausedRollout(bed, {})
    const start = await bed.kube.audit.mark()

    const status = await statusOf()

    expect(status).toMatchObject({
      cluster: CLUSTER,
      state: 'Updating',
      holder: expect.stringContaining(`/${rollout.workflowId}/`),
      holderSince: expect.stringMatching(/^20/),
      lastError: null,
      pools: [
        {
          pool: 'control',
          type: 'control',
          machines: 3,
          outOfDate: 0,
          settings: { offerings: ['small'], rootDiskGiB: 50 },
          outOfDateNodes: [],
        },
        {
          pool: 'worker',
          machines: 2,
          outOfDate: 2,
          unavailable: 1,
          settings: { offerings: ['large', 'huge'], rootDiskGiB: 80, affinityGroups: [] },
          outOfDateNodes: ['w-1', 'w-2'],
        },
      ],
      marked: [{ name: 'w-2', pool: 'worker', why: expect.stringContaining('cannot be read') }],
      problems: [],
      nextPage: null,
    })
    expect(await writesSince(bed, start)).toEqual([])
    expect(bed.acts(false)).toEqual([])

    await rollout.signal('cancel', { by: 'ana' })
    await bed.endOf(rollout)
    const after = await statusOf()

    expect(after).toMatchObject({
      // One of our marks is left.
      state: 'Alert',
      holder: null,
      lastError: expect.stringMatching(/^cancelled by ana/),
      capacity: { machines: 5, cpu: 10, memoryMiB: 5 * 4096 },
    })
  })

  it('CKS-06 of a cluster that noderoll has never seen says so, and writes nothing', async () => {
    await bed.startCluster({ workers: 1 })
    await bed.startWorker()
    const start = await bed.kube.audit.mark()

    const status = await statusOf()

    expect(status).toMatchObject({
      state: 'Running',
      holder: null,
      lastError: null,
      pools: [],
      capacity: null,
    })
    expect(await writesSince(bed, start)).toEqual([])
    for (const path of [LEASE, CONFIG_MAP]) expect((await bed.kube.api.call('GET', path)).status).toBe(404)
  })

  it('CKS-00 names what does not fit together', async () => {
    await bed.startCluster({ workers: 2 })
    await bed.startWorker()
    await bed.roll({ rollout: false, pools: { worker: {} } })
    bed.cluster.cloud.removeMachine('w-1')
    await bed.kube.api.ok('DELETE', '/api/v1/nodes/w-2')
    await bed.kube.api.ok('PATCH', CONFIG_MAP, { data: { cluster: 'staging' } })

    const status = await waitUntil(
      async () => {
        const status = await statusOf()
        return status.problems.some((problem) => problem.includes('w-2')) && status
      },
      { for: 'the worker to hear that a Node is gone' },
    )

    expect(status).toMatchObject({
      state: 'Alert',
      problems: [
        expect.stringContaining('known as staging, not prod'),
        expect.stringContaining('node w-1 has no machine'),
        expect.stringContaining('machine w-2 is running and has no Node'),
      ],
    })
  })

  it('CKS-06 comes in pages of a hundred names', async () => {
    await bed.startCluster({ workers: 1, etcd: NAMES.length })
    await bed.startWorker()
    await bed.roll({
      rollout: false,
      pools: { worker: {}, etcd: { select: { machines: NAMES }, offering: 'large' } },
    })

    const first = await statusOf()
    const second = await statusOf(1)

    const namesIn = ({ pools }: ClusterStatus) => pools.find(({ pool }) => pool === 'etcd')?.outOfDateNodes
    expect(first.nextPage).toBe(1)
    expect(second.nextPage).toBeNull()
    expect([...(namesIn(first) ?? []), ...(namesIn(second) ?? [])]).toEqual(NAMES)
    expect(namesIn(first)).toHaveLength(100)
    expect(second.pools).toContainEqual(expect.objectContaining({ pool: 'etcd', outOfDate: 120 }))
  })
})
