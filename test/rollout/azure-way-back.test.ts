import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { MARK_KEYS } from '../../src/core/marks.js'
import type { ArmFault } from '../../src/simulation/arm/arm-faults.js'
import type { ArmError } from '../../src/simulation/arm/arm-state.js'
import { AzureBed, D2, D4 } from '../providers/azure-vm/azure-bed.js'
import { expectAsFound, found, isCordoned, isReady, nodeWrites } from '../support/batch-nodes.js'
import { marksOf } from '../support/rollout-bed.js'

const ZONAL = {
  code: 'ZonalAllocationFailed',
  message: 'Allocation failed. We do not have sufficient capacity for the requested VM size in this zone.',
  innererror: { internalErrorCode: 'AllocationFailed' },
}
const QUOTA = {
  code: 'OperationNotAllowed',
  message:
    'Operation could not be completed as it results in exceeding approved standardDSv3Family Cores quota.',
}
const noRoom = (size: string, error: ArmError = ZONAL): ArmFault => ({
  ...{ vm: 'w-1', call: 'start', size, count: null },
  effect: { kind: 'operationFails', error },
})
const refuses = (status: number, code: string): ArmFault['effect'] => ({
  ...{ kind: 'answer', status, error: { code, message: `${code}, says the stand-in` } },
})

describe('the way back of an Azure VM', () => {
  let azure: AzureBed

  beforeAll(async () => {
    azure = await AzureBed.open()
  })
  afterEach(() => azure.bed.clean())
  afterAll(() => azure.bed.close())

  async function failureMark(): Promise<unknown> {
    const { metadata } = await azure.bed.node('w-1')
    return JSON.parse(metadata.annotations?.[MARK_KEYS.failure] ?? 'null')
  }

  it.each([
    ['zonal capacity', ZONAL],
    ['quota', QUOTA],
  ])(
    'B19, K2 a new size without %s: the old one is written back, started, verified; the rollout stops',
    async (_, error) => {
      await azure.startCluster({ delays: { deallocateMs: 50, startMs: 50 } })
      azure.arm.faults.add(noRoom(D4, error))
      const boot = (await azure.bed.node('w-1')).status.nodeInfo.bootID
      const position = await azure.bed.kube.audit.mark()
      await azure.bed.startWorker()

      const end = await azure.roll({ pools: { worker: { offering: D4 } } })

      expect(end).toMatchObject({
        kind: 'failed',
        type: 'CapacityUnavailable',
        message: expect.stringContaining(error.message.slice(0, -1)),
        result: {
          failed: [{ node: 'w-1', step: 'start' }],
          leftCordoned: [],
          state: 'Running',
          done: { count: 0 },
        },
      })
      expect(azure.acts(false)).toEqual([
        ...['deallocate w-1', 'updateVm w-1', 'start w-1'],
        ...['updateVm w-1', 'start w-1'],
      ])
      expect(azure.arm.vm('w-1')).toMatchObject({ power: 'running', size: D2 })
      const node = await azure.bed.node('w-1')
      expect(node.status.nodeInfo.bootID).not.toBe(boot)
      expect([isReady(node), marksOf(node), isCordoned(node)]).toEqual([true, [], false])
      expect(await nodeWrites(azure.bed, position, 'w-2')).toEqual([])
    },
  )

  it('B19, K2 no size can be had any more: deallocated at the original size, and the failure mark says so', async () => {
    await azure.startCluster({ workers: 3 })
    azure.arm.faults.add(noRoom(D4))
    azure.arm.faults.add(noRoom(D2))
    await azure.bed.startWorker()

    const end = await azure.roll({ pools: { worker: { offering: D4 } } })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'CapacityUnavailable',
      result: { failed: [{ node: 'w-1', step: 'start' }], leftCordoned: [{ name: 'w-1' }], state: 'Alert' },
    })
    expect(azure.arm.vm('w-1')).toMatchObject({ power: 'deallocated', size: D2, provisioningState: 'Failed' })
    expect(await failureMark()).toMatchObject({
      step: 'start',
      reason: expect.stringContaining('ZonalAllocationFailed'),
      machine: `stopped, offering ${D2}, root disk 64 GiB`,
    })
    expect(isCordoned(await azure.bed.node('w-1'))).toBe(true)
    expect(azure.acts(false).filter((act) => act === 'start w-1')).toHaveLength(2)
    expect(azure.acts(false).filter((act) => !act.endsWith('w-1'))).toEqual([])
  })

  it('CKS-01, B19 tries the next size of a list first', async () => {
    await azure.startCluster({ workers: 1 })
    azure.arm.faults.add(noRoom(D4))
    await azure.bed.startWorker()

    const end = await azure.roll({ pools: { worker: { offering: [D4, 'Standard_DS2_v2'] } } })

    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1'] }, state: 'Running' } })
    expect(azure.arm.vm('w-1')).toMatchObject({ power: 'running', size: 'Standard_DS2_v2' })
  })

  it('K1 puts the node back when deallocating is not permitted: nothing has happened to it', async () => {
    await azure.startCluster()
    const before = await found(azure.bed)
    azure.arm.faults.add({ call: 'deallocate', effect: refuses(403, 'AuthorizationFailed'), count: null })
    await azure.bed.startWorker()

    const end = await azure.roll({ pools: { worker: { offering: D4 } } })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'MachineFailed',
      message: expect.stringContaining('403 AuthorizationFailed'),
      result: { failed: [{ node: 'w-1', step: 'stop' }], state: 'Running' },
    })
    expect(azure.acts(false)).toEqual(['deallocate w-1'])
    await expectAsFound(azure.bed, before)
  })

  it('K2 leaves the node cordoned with the reason when somebody deletes its VM while it is off', async () => {
    await azure.startCluster()
    azure.arm.onRequest({ call: 'updateVm' }, () => azure.arm.removeVm('w-1'), 'arrival')
    await azure.bed.startWorker()

    const end = await azure.roll({ pools: { worker: { offering: D4 } } })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'MachineFailed',
      message: expect.stringContaining('404 ResourceNotFound'),
      result: { failed: [{ node: 'w-1', step: 'resize' }], leftCordoned: [{ name: 'w-1' }], state: 'Alert' },
    })
    expect(azure.acts(false)).toEqual(['deallocate w-1', 'updateVm w-1'])
    expect(await failureMark()).toMatchObject({ step: 'resize', reason: expect.stringContaining('404') })
  })

  it('K2 gives the node back with its old size when its disk may not be written', async () => {
    await azure.startCluster()
    azure.arm.faults.add({ call: 'updateDisk', effect: refuses(409, 'ScopeLocked'), count: null })
    await azure.bed.startWorker()

    const end = await azure.roll({ pools: { worker: { offering: D4, rootDiskGiB: 128 } } })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'MachineFailed',
      result: { failed: [{ node: 'w-1', step: 'resize' }], leftCordoned: [], state: 'Running' },
    })
    expect(azure.arm.vm('w-1')).toMatchObject({ power: 'running', size: D2 })
    expect(marksOf(await azure.bed.node('w-1'))).toEqual([])
  })
})
