import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { AuditRecord } from '../support/audit.js'
import { RolloutBed } from '../support/rollout-bed.js'

describe('what a batch asks of the API server', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  /** What noderoll asked for while it rolled w-1, w-2 and w-3 one by one: from the first cordon to the last uncordon. */
  async function batchesOf(workers: number): Promise<AuditRecord[]> {
    await bed.startCluster({ workers })
    for (const machine of bed.cluster.machines.slice(3))
      bed.cluster.cloud.machine(machine.id).offering = 'large'
    await bed.startWorker()
    const before = await bed.kube.audit.mark()

    const end = await bed.roll({ pools: { worker: { offering: 'large' } } })

    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1', 'w-2', 'w-3'] } } })
    await bed.kube.audit.settled()
    const asked = await bed.kube.audit.since(before, { user: 'noderoll' })
    const patches = asked.map(({ verb, resource }) => verb === 'patch' && resource === 'nodes')
    return asked.slice(patches.indexOf(true), patches.lastIndexOf(true) + 1)
  }

  // CKS-12 is the look at all other nodes: before each batch, so it must not cost a list of them each time.
  it('CKS-12 nothing about nodes that are not in it, and no more in a larger cluster', async () => {
    const few = await batchesOf(6)
    await bed.clean()
    const many = await batchesOf(30)

    const asked = [...few, ...many].filter(({ resource }) => resource === 'nodes')
    // The one watch of all nodes is logged when it ends.
    const lists = asked.filter(({ verb, name }) => name === '' && verb !== 'watch')
    const others = asked.filter(({ name }) => name !== '' && !['w-1', 'w-2', 'w-3'].includes(name))
    expect([...lists, ...others]).toEqual([])
    expect(asked.length).toBeGreaterThan(0)
    // What a node does while it is looked at may cost a look more or less.
    expect(many.length).toBeLessThan(few.length * 1.2)
  })
})
