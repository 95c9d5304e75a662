import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { ClusterStatus } from '../../src/api/activities.js'
import { CLUSTER, marksOf, RolloutBed } from '../support/rollout-bed.js'
import { A, B, nodeWritesSince, storedSettings, writesSince } from '../support/story-world.js'

describe('settings', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
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
    const before = await bed.nodes()
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
    expect((await bed.nodes()).map(({ metadata, spec }) => ({ metadata, spec }))).toMatchObject(
      before.map(({ metadata, spec }) => ({ metadata: { annotations: metadata.annotations }, spec })),
    )
    expect(await bed.leaseHolder()).toBeNull()
  })
})
