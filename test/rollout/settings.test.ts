import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { expectAsFound, found } from '../support/batch-nodes.js'
import { CLUSTER, marksOf, RolloutBed } from '../support/rollout-bed.js'
import { A, B, nodeWritesSince, storedSettings, writesSince } from '../support/story-world.js'
import { waitUntil } from '../support/wait.js'

describe('settings', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
    bed.keepsWorker = true
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  const machine = (name: string) => bed.cluster.cloud.machine(name)

  /** Workers of the pools a and b. */
  async function startPools(of: { a: string[]; b: string[] }): Promise<void> {
    const { cloud, kubelets } = await bed.startCluster({ workers: 0 })
    for (const [pool, names] of Object.entries(of)) {
      for (const name of names) {
        cloud.addMachine({
          cluster: CLUSTER,
          name,
          type: 'worker',
          offering: 'small',
          rootDiskGiB: 50,
          nodeLabels: { pool },
        })
      }
    }
    await kubelets.untilReady([...of.a, ...of.b])
    await bed.startWorker()
  }

  it('CKS-03 the first time, every pool records what all its machines share; CKS-02 and nothing is touched', async () => {
    await startPools({ a: ['a-1', 'a-2'], b: ['b-1'] })
    machine('a-2').rootDiskGiB = 60
    machine('b-1').affinityGroups = [
      { name: 'spread-a', explicitDedication: false },
      { name: 'dedicated', explicitDedication: true },
    ]
    const before = await found(bed)
    const start = await bed.kube.audit.mark()

    const end = await bed.roll({ rollout: false, pools: { a: { ...A, offering: 'large' }, b: B } })

    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'stored' } })
    expect(await storedSettings(bed)).toEqual({
      a: { offerings: ['large'], rootDiskGiB: null, affinityGroups: [] },
      b: { offerings: ['small'], rootDiskGiB: 50, affinityGroups: ['spread-a'] },
    })
    expect(await writesSince(bed, start)).toEqual([
      'create leases noderoll',
      'create configmaps noderoll',
      'update leases noderoll',
    ])
    expect(bed.acts(false)).toEqual([])
    await expectAsFound(bed, before)
    expect(await bed.leaseHolder()).toBeNull()
  })

  it('CKS-01 a pool not named keeps its stored settings and is rolled where its machines differ', async () => {
    await startPools({ a: ['a-1', 'a-2'], b: ['b-1', 'b-2'] })
    await bed.roll({ rollout: false, pools: { a: { ...A, offering: 'large', rootDiskGiB: 80 }, b: B } })
    machine('b-2').offering = 'huge'

    const end = await bed.roll({ pools: { b: { ...B, affinityGroups: [] } } })

    expect(end).toMatchObject({
      kind: 'completed',
      result: { outcome: 'done', state: 'Running', done: { names: ['b-2', 'a-1', 'a-2'] }, lastError: null },
    })
    expect(bed.acts()).toEqual([
      ...['stop b-2', 'setOffering b-2', 'start b-2'],
      ...['stop a-1', 'setOffering a-1', 'growRootDisk a-1', 'start a-1'],
      ...['stop a-2', 'setOffering a-2', 'growRootDisk a-2', 'start a-2'],
    ])
    expect(machine('b-2').offering).toBe('small')
    expect(await storedSettings(bed)).toEqual({
      a: { offerings: ['large'], rootDiskGiB: 80, affinityGroups: [] },
      b: { offerings: ['small'], rootDiskGiB: 50, affinityGroups: [] },
    })
  })

  it('CKS-01 of a list of offerings any is up to date, the first that has room is taken', async () => {
    await bed.startCluster({ workers: 3 })
    await bed.startWorker()
    machine('w-1').offering = 'huge'
    bed.cluster.cloud.faults.add({
      call: 'start',
      machine: 'w-3',
      offering: 'large',
      effect: { kind: 'capacity' },
      count: null,
    })

    const end = await bed.roll({ pools: { worker: { offering: ['large', 'huge'] } } })

    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', state: 'Running' } })
    expect(bed.acts().filter((act) => act.endsWith('w-1'))).toEqual([])
    expect(machine('w-2').offering).toBe('large')
    expect(machine('w-3').offering).toBe('huge')
    expect((await bed.nodes()).flatMap(marksOf)).toEqual([])
  })

  it('CKS-02 stores and touches nothing; what differs later is out of date', async () => {
    await bed.startCluster({ workers: 1 })
    await bed.startWorker()
    const start = await bed.kube.audit.mark()

    await bed.roll({ rollout: false, pools: { worker: { offering: 'large' } } })
    bed.cluster.cloud.addMachine({ cluster: CLUSTER, name: 'w-2', type: 'worker', offering: 'large' })
    bed.cluster.cloud.addMachine({ cluster: CLUSTER, name: 'w-3', type: 'worker', offering: 'huge' })
    await bed.cluster.kubelets.untilReady(['w-2', 'w-3'])
    const statusOf = async () => bed.endOf(await bed.startType('clusterStatus', bed.target()))
    const status = await waitUntil(
      async () => {
        const status = await statusOf()
        return status.kind === 'completed' && status.result.pools[0]?.machines === 3 && status
      },
      { for: 'the worker to hear of both Nodes' },
    )

    expect(status).toMatchObject({
      kind: 'completed',
      result: { pools: [{ pool: 'worker', machines: 3, outOfDate: 2, outOfDateNodes: ['w-1', 'w-3'] }] },
    })
    expect(await nodeWritesSince(bed, start)).toEqual([])
    expect(bed.acts(false)).toEqual([])
  })

  it.each([false, true])(
    'CKS-02 is refused while the provider reports an operation on the cluster (rollout: %s)',
    async (rollout) => {
      await bed.startCluster({ workers: 1 })
      await bed.startWorker()
      bed.cluster.cloud.setClusterOperation(CLUSTER, 'its deletion')
      const start = await bed.kube.audit.mark()

      const end = await bed.roll({ rollout, pools: { worker: { offering: 'large' } } })

      expect(end).toMatchObject({ kind: 'failed', type: 'SettingsRefused' })
      expect(end).toHaveProperty('message', expect.stringContaining('its deletion'))
      expect(await writesSince(bed, start)).toEqual([])
      expect(bed.acts(false)).toEqual([])
    },
  )

  it('CKS-02 refuses maxUnavailable where nothing is rolled', async () => {
    await bed.startCluster({ workers: 1 })
    await bed.startWorker()
    const start = await bed.kube.audit.mark()

    const end = await bed.roll({ rollout: false, pools: { worker: { maxUnavailable: 2 } } })

    expect(end).toMatchObject({ kind: 'failed', type: 'InvalidSpec' })
    expect(end).toHaveProperty('message', expect.stringContaining('pools.worker.maxUnavailable'))
    expect(await writesSince(bed, start)).toEqual([])
  })

  it('CKS-04 refuses a size that would shrink a disk or that a fixed disk cannot have, and takes it without a rollout', async () => {
    await startPools({ a: ['a-1', 'a-2'], b: ['b-1'] })
    machine('a-2').rootDiskGiB = 100
    machine('b-1').rootDiskFixed = 'the disk offering is strictly fixed'
    const pools = { a: { ...A, rootDiskGiB: 80 }, b: { ...B, rootDiskGiB: 80 } }
    const start = await bed.kube.audit.mark()

    const refused = await bed.roll({ pools })

    expect(refused).toMatchObject({ kind: 'failed', type: 'SettingsRefused' })
    expect(refused).toHaveProperty(
      'message',
      expect.stringMatching(/shrink the 100 GiB disk of a-2.*at least 100/),
    )
    expect(refused).toHaveProperty(
      'message',
      expect.stringMatching(/b-1: the disk offering is strictly fixed/),
    )
    expect(await writesSince(bed, start)).toEqual([])

    const stored = await bed.roll({ rollout: false, pools })

    expect(stored).toMatchObject({ kind: 'completed', result: { outcome: 'stored' } })
    expect(await storedSettings(bed)).toMatchObject({ a: { rootDiskGiB: 80 }, b: { rootDiskGiB: 80 } })
    expect(bed.acts(false)).toEqual([])
  })

  it('CKS-04 a stored size that cannot be had skips that pool, with the reason in lastError; the others roll', async () => {
    await startPools({ a: ['a-1'], b: ['b-1', 'b-2'] })
    machine('a-1').rootDiskFixed = 'the disk offering is strictly fixed'
    await bed.roll({ rollout: false, pools: { a: { ...A, rootDiskGiB: 80 }, b: B } })

    const end = await bed.roll({ pools: { b: { ...B, offering: 'large' } } })

    expect(end).toMatchObject({
      kind: 'completed',
      result: { outcome: 'done', done: { names: ['b-1', 'b-2'] }, skipped: [{ name: 'a-1', pool: 'a' }] },
    })
    expect(bed.acts().filter((act) => act.endsWith('a-1'))).toEqual([])
    expect(machine('b-2').offering).toBe('large')
    const record = await bed.record()
    expect(record?.lastError).toMatch(/a-1.*80 GiB.*the disk offering is strictly fixed/)
    expect(record?.state).toBe('Running')
  })

  it('CKS-04 a stored size that cannot be had skips its pool also when something else is asked of it', async () => {
    await startPools({ a: ['a-1'], b: ['b-1'] })
    machine('a-1').rootDiskFixed = 'the disk offering is strictly fixed'
    await bed.roll({ rollout: false, pools: { a: { ...A, rootDiskGiB: 80 }, b: B } })

    const end = await bed.roll({ pools: { a: { ...A, offering: 'large' }, b: { ...B, offering: 'large' } } })

    expect(end).toMatchObject({
      kind: 'completed',
      result: { outcome: 'done', done: { names: ['b-1'] }, skipped: [{ name: 'a-1' }] },
    })
    expect((await bed.record())?.lastError).toMatch(/the disk offering is strictly fixed/)
    expect(machine('a-1').offering).toBe('small')
  })

  it('CKS-05 a dedication is refused in the settings, kept on the machines and not compared', async () => {
    await bed.startCluster({ workers: 2 })
    await bed.startWorker()
    machine('w-1').affinityGroups = [{ name: 'dedicated', explicitDedication: true }]
    const start = await bed.kube.audit.mark()

    const refused = await bed.roll({ pools: { worker: { affinityGroups: ['spread-a', 'dedicated'] } } })

    expect(refused).toMatchObject({ kind: 'failed', type: 'SettingsRefused' })
    expect(refused).toHaveProperty('message', expect.stringMatching(/dedicated is an explicit dedication/))
    expect(await writesSince(bed, start)).toEqual([])

    const end = await bed.roll({ pools: { worker: { affinityGroups: ['spread-a'] } } })
    const again = await bed.roll({ pools: {} })

    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', done: { count: 2 } } })
    expect(machine('w-1').affinityGroups.map(({ name }) => name)).toEqual(['spread-a', 'dedicated'])
    expect(machine('w-1').placement).toEqual(['spread-a', 'dedicated'])
    expect(machine('w-2').affinityGroups.map(({ name }) => name)).toEqual(['spread-a'])
    expect(again).toMatchObject({ kind: 'completed', result: { outcome: 'done', done: { count: 0 } } })
  })

  it('CKS-05 a pool with no recorded groups leaves the groups of its machines alone', async () => {
    await bed.startCluster({ workers: 2 })
    await bed.startWorker()
    machine('w-1').affinityGroups = [{ name: 'spread-a', explicitDedication: false }]

    const end = await bed.roll({ pools: { worker: { offering: 'large' } } })

    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', done: { count: 2 } } })
    expect(bed.acts().filter((act) => act.startsWith('setAffinityGroups'))).toEqual([])
    expect(machine('w-1').affinityGroups.map(({ name }) => name)).toEqual(['spread-a'])
    expect((await storedSettings(bed)).worker?.affinityGroups).toBeNull()
  })

  it('CKS-06 the answer of storing names settings, machines out of date and lastError', async () => {
    await startPools({ a: ['a-1'], b: ['b-1', 'b-2'] })

    const end = await bed.roll({
      rollout: false,
      pools: { a: { ...A, rootDiskGiB: 80 }, b: { ...B, offering: 'large' } },
    })

    expect(end).toMatchObject({
      kind: 'completed',
      result: {
        outcome: 'stored',
        pools: [
          { pool: 'a', machines: 1, outOfDate: 1, settings: { offerings: ['small'], rootDiskGiB: 80 } },
          { pool: 'b', machines: 2, outOfDate: 2, settings: { offerings: ['large'], rootDiskGiB: 50 } },
        ],
        lastError: null,
      },
    })
  })

  it('CKS-06 the answer of a rollout names them, and so does clusterStatus at any time', async () => {
    await startPools({ a: ['a-1'], b: ['b-1', 'b-2'] })
    machine('a-1').rootDiskFixed = 'the disk offering is strictly fixed'
    await bed.roll({
      rollout: false,
      pools: { a: { ...A, rootDiskGiB: 80 }, b: { ...B, offering: 'large' } },
    })

    const rolled = await bed.roll({ pools: {} })
    const status = await bed.endOf(await bed.startType('clusterStatus', bed.target()))

    const answer = {
      pools: [
        {
          pool: 'a',
          machines: 1,
          outOfDate: 1,
          settings: { offerings: ['small'], rootDiskGiB: 80, affinityGroups: [] },
        },
        { pool: 'b', machines: 2, outOfDate: 0, settings: { offerings: ['large'], rootDiskGiB: 50 } },
      ],
      lastError: expect.stringMatching(/a-1.*strictly fixed/),
    }
    expect(rolled).toMatchObject({ kind: 'completed', result: { ...answer, outcome: 'done' } })
    expect(status).toMatchObject({ kind: 'completed', result: { ...answer, state: 'Running' } })
  })
})
