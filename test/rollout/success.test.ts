import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { marksOf, RolloutBed } from '../support/rollout-bed.js'

describe('a rollout that succeeds', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  it('CKS-17 stops, sets offering, grows the disk, sets the groups and starts each machine once, in that order', async () => {
    await bed.startCluster({ workers: 2 })
    await bed.startWorker()

    const end = await bed.roll({
      pools: { worker: { offering: 'large', rootDiskGiB: 80, affinityGroups: ['spread-a'] } },
    })

    expect(end).toMatchObject({
      kind: 'completed',
      result: { outcome: 'done', state: 'Running', done: { names: ['w-1', 'w-2'] } },
    })
    expect(bed.acts()).toEqual(
      ['w-1', 'w-2'].flatMap((name) =>
        ['stop', 'setOffering', 'growRootDisk', 'setAffinityGroups', 'start'].map((act) => `${act} ${name}`),
      ),
    )
    for (const node of await bed.nodes()) {
      expect(marksOf(node)).toEqual([])
      expect(node.spec.unschedulable ?? false).toBe(false)
    }
  })
})
