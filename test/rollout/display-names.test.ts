import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { isCordoned } from '../support/batch-nodes.js'
import { marksOf, RolloutBed } from '../support/rollout-bed.js'

describe('machines that the provider calls by other names than their nodes', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  const CONTROL = ['c-1', 'c-2', 'c-3']

  it('CKS-00, CKS-13, CKS-18 control nodes are rolled: the API server and the etcd member of each are asked for by the name of its node', async () => {
    await bed.startCluster({ control: 3, workers: 1, displayName: (name) => `vm-of-${name}-7f3a` })
    const { cloud } = bed.cluster
    await bed.startWorker()

    const end = await bed.roll({ pools: { control: { offering: 'large' }, worker: { offering: 'large' } } })

    expect(end).toMatchObject({
      kind: 'completed',
      result: {
        outcome: 'done',
        state: 'Running',
        done: { names: ['c-2', 'c-3', 'c-1', 'w-1'] },
        lastError: null,
      },
    })
    expect(bed.acts(false)).toEqual(
      ['c-2', 'c-3', 'c-1', 'w-1'].flatMap((name) => [
        `stop ${name}`,
        `setOffering ${name}`,
        `start ${name}`,
      ]),
    )
    for (const name of CONTROL) {
      const start = cloud.log.acts().find(({ call, machine }) => call === 'start' && machine === name)
      const asked = cloud.log
        .all()
        .filter(({ machine, number }) => machine === name && number > (start?.number ?? 0))
      expect(asked.map(({ call, status }) => `${call} ${status}`)).toEqual(
        expect.arrayContaining(['readyz 200', 'etcdHealth 200']),
      )
    }
    for (const node of await bed.nodes()) expect([marksOf(node), isCordoned(node)]).toEqual([[], false])
  })
})
