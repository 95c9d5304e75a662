import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { MARK_KEYS } from '../../src/core/marks.js'
import { isCordoned, markAsLeft, stopMachine } from '../support/batch-nodes.js'
import { marksOf, RolloutBed } from '../support/rollout-bed.js'

describe('a recovery batch that is broken off', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  const NODES = '/api/v1/nodes'

  /** The same node by name, of another machine. */
  async function replaceNode(name: string): Promise<void> {
    await bed.kube.api.ok('DELETE', `${NODES}/${name}`)
    await bed.kube.api.ok('POST', NODES, {
      metadata: { name },
      spec: { providerID: 'simulated://prod/of-somebody' },
    })
  }

  it.each<[string, () => Promise<unknown>, RegExp]>([
    ['was deleted', () => bed.kube.api.ok('DELETE', `${NODES}/w-2`), /node w-2 is gone from the cluster/],
    [
      'is of another machine',
      () => replaceNode('w-2'),
      /node w-2 runs on simulated:\/\/prod\/of-somebody now/,
    ],
  ])(
    'K1 one whose node %s meanwhile leaves the other, off and marked by an earlier rollout, cordoned and marked',
    async (_what, meanwhile, says) => {
      await bed.startCluster({ workers: 3 })
      await markAsLeft(bed, 'w-1')
      await stopMachine(bed, 'w-1')
      await stopMachine(bed, 'w-2')
      bed.cluster.kubelets.script('w-2', { doesNotRegister: true })
      const bootId = (await bed.node('w-1')).status.nodeInfo.bootID
      const unsubscribe = bed.cluster.cloud.onRequest({ call: 'get', machine: 'w-2' }, async () => {
        unsubscribe()
        await meanwhile()
      })
      await bed.startWorker()

      const end = await bed.roll({ pools: { worker: {} } })

      expect(end).toMatchObject({
        kind: 'failed',
        type: 'NodeChanged',
        message: expect.stringMatching(says),
        result: {
          failed: [{ step: 'cordon', outcome: expect.stringContaining('not every node could be put back') }],
          state: 'Alert',
        },
      })
      expect(end).toMatchObject({
        result: { leftCordoned: [{ name: 'w-1', why: 'its machine is stopped' }] },
      })
      expect(bed.acts(false)).toEqual([])
      const node = await bed.node('w-1')
      expect(isCordoned(node)).toBe(true)
      expect(node.metadata.annotations?.[MARK_KEYS.bootId]).toBe(bootId)
      expect([...marksOf(node)].sort()).toEqual([MARK_KEYS.attempt, MARK_KEYS.bootId].sort())
      expect(bed.cluster.cloud.machine('w-1').power).toBe('stopped')
    },
  )
})
