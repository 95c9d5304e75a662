import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { ArmFault } from '../../src/simulation/arm/arm-faults.js'
import { AzureBed, D4 } from '../providers/azure-vm/azure-bed.js'
import { GROUP } from '../providers/azure-vm/stand-in.js'
import { marksOf } from '../support/rollout-bed.js'

const answer = (status: number, code: string, retryAfterSeconds?: number): ArmFault['effect'] => ({
  ...{ kind: 'answer', status, error: { code, message: `${code}, says the stand-in` } },
  ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
})

describe('Azure VMs that go wrong', () => {
  let azure: AzureBed

  beforeAll(async () => {
    azure = await AzureBed.open()
  })
  afterEach(() => azure.bed.clean())
  afterAll(() => azure.bed.close())

  // One of each class; the table of codes has them all.
  it.each<{ what: string; effect: ArmFault['effect']; sent: number }>([
    { what: 'a concurrent request', effect: answer(409, 'Conflict'), sent: 2 },
    { what: 'throttling with Retry-After', effect: answer(429, 'OperationNotAllowed', 1), sent: 2 },
    { what: 'a gateway that times out', effect: answer(503, 'ServerTimeout'), sent: 2 },
    {
      what: 'an operation preempted by another',
      effect: { kind: 'operationFails', error: { code: 'OperationPreempted', message: 'preempted' } },
      sent: 2,
    },
    {
      what: 'a time-out that came good',
      effect: { kind: 'happensAnyway', error: { code: 'VMStartTimedOut', message: 'may still start' } },
      sent: 1,
    },
    { what: 'a lost answer', effect: { kind: 'answerLost' }, sent: 1 },
    { what: 'an operation Azure has forgotten', effect: { kind: 'forgotten' }, sent: 1 },
    { what: 'no header that names an operation', effect: { kind: 'noAsyncHeader' }, sent: 1 },
  ])('CKS-17 does each act once with effect though at each call there is $what', async ({ effect, sent }) => {
    await azure.startCluster({
      workers: 1,
      delays: { deallocateMs: 30, startMs: 30, updateMs: 30, diskMs: 30 },
      prepare: (arm) => arm.addPlacementGroup({ resourceGroup: GROUP, name: 'ppg-a' }),
    })
    const calls = ['deallocate', 'updateVm', 'updateDisk', 'start'] as const
    for (const call of calls) azure.arm.faults.add({ vm: 'w-1', call, effect, count: 1 })
    await azure.bed.startWorker()

    const end = await azure.roll({
      pools: { worker: { offering: D4, rootDiskGiB: 128 } },
      batchTimeout: '120s',
    })

    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1'] }, state: 'Running' } })
    expect(azure.acts()).toEqual(calls.map((call) => `${call} w-1`))
    expect(azure.acts(false)).toHaveLength(calls.length * sent)
    expect(marksOf(await azure.bed.node('w-1'))).toEqual([])
  })
})
