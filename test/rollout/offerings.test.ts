import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { isCordoned } from '../support/batch-nodes.js'
import { marksOf, RolloutBed } from '../support/rollout-bed.js'

describe('a list of offerings, in order of preference', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
    bed.keepsWorker = true
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  function noRoomFor(offering: string): void {
    bed.cluster.cloud.faults.add({
      ...{ call: 'start', machine: 'w-1', offering },
      ...{ effect: { kind: 'capacity' }, count: null },
    })
  }

  it('CKS-01 tries the offerings of a list in order until one has room', async () => {
    await bed.startCluster({ workers: 1 })
    noRoomFor('large')
    await bed.startWorker()

    const end = await bed.roll({ pools: { worker: { offering: ['large', 'huge'] } } })

    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1'] }, state: 'Running' } })
    expect(bed.acts(false)).toEqual([
      ...['stop w-1', 'setOffering w-1', 'start w-1'],
      ...['setOffering w-1', 'start w-1'],
    ])
    expect(bed.cluster.cloud.machine('w-1').offering).toBe('huge')
  })

  it('K2, CKS-01 goes back to the old size when no offering of the list has room', async () => {
    await bed.startCluster({ workers: 2 })
    for (const offering of ['large', 'huge']) noRoomFor(offering)
    await bed.startWorker()

    const end = await bed.roll({ pools: { worker: { offering: ['large', 'huge'] } } })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'CapacityUnavailable',
      message: expect.stringMatching(/no room for large.*no room for huge/),
    })
    expect(bed.cluster.cloud.machine('w-1')).toMatchObject({ power: 'running', offering: 'small' })
    expect(marksOf(await bed.node('w-1'))).toEqual([])
    expect(isCordoned(await bed.node('w-1'))).toBe(false)
  })
})
