import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { NodeJob } from '../../../src/api/activities.js'
import type { AzureVmMachines } from '../../../src/providers/azure-vm/machines.js'
import type { ArmCloud } from '../../../src/simulation/arm/arm-cloud.js'
import { signal, theMachine } from '../machines-contract.js'
import { jobFor, runner, worldOf } from './saga.js'
import { addVm, machinesOn, startArm } from './stand-in.js'

const D2 = 'Standard_D2s_v3'
const D4 = 'Standard_D4s_v3'
const NO_ROOM = {
  kind: 'operationFails',
  error: { code: 'AllocationFailed', message: 'no room for this size' },
} as const

describe('the way back to the old size', () => {
  let arm: ArmCloud
  let machines: AzureVmMachines
  let job: NodeJob
  let run: ReturnType<typeof runner>

  beforeEach(async () => {
    arm = await startArm()
    addVm(arm, 'w-1', { size: D2, power: 'deallocated' })
    machines = machinesOn(arm)
    job = jobFor(await theMachine(machines, 'w-1'), {
      ...{ offerings: [D4], rootDiskGiB: null, affinityGroups: null },
    })
    arm.change('w-1', (vm) => {
      vm.size = D4
    })
    run = runner(worldOf(machines))
  })
  afterEach(() => arm.close())

  /** A start that goes on until the step that restores has looked at its VM. */
  async function startUnderWay(): Promise<void> {
    arm.settings.delays.startMs = 3_600_000
    await machines.start('w-1', signal())
    arm.settings.delays.startMs = 0
  }

  async function restore(): Promise<unknown> {
    const off = arm.onRequest({ call: 'getVm' }, () => {
      off()
      setTimeout(() => arm.finishOperations())
    })
    return run('restoreMachine', job)
  }

  it('B19, K2 waits for the end of a start of the new size that was given up, then goes back', async () => {
    arm.faults.add({ call: 'start', size: D4, count: null, effect: NO_ROOM })
    await startUnderWay()
    expect(await theMachine(machines, 'w-1')).toMatchObject({ power: 'starting', offering: D4 })

    expect(await restore()).toEqual({ kind: 'running', wasDown: true })

    expect(arm.vm('w-1')).toMatchObject({ power: 'running', size: D2 })
    expect(arm.log.acts(false)).toEqual(['start w-1', 'updateVm w-1', 'start w-1'])
  })

  it('K2 leaves a VM as it is whose start of the new size came good after all', async () => {
    await startUnderWay()

    expect(await restore()).toEqual({ kind: 'running', wasDown: true })

    expect(arm.vm('w-1')).toMatchObject({ power: 'running', size: D4 })
    expect(arm.log.acts(false)).toEqual(['start w-1'])
  })

  it('B19, K2 writes the old size back once more when there was no room for another that came in between', async () => {
    arm.faults.add({ call: 'start', count: 1, effect: NO_ROOM })
    const stop = arm.onRequest(
      { call: 'start' },
      () => {
        stop()
        arm.change('w-1', (vm) => {
          vm.size = D4
        })
      },
      'arrival',
    )

    expect(await run('restoreMachine', job)).toEqual({ kind: 'running', wasDown: true })

    expect(arm.vm('w-1')).toMatchObject({ power: 'running', size: D2 })
    expect(arm.log.acts(false)).toEqual(['updateVm w-1', 'start w-1', 'updateVm w-1', 'start w-1'])
  })

  it('B19, K2 does not try again where there is no room for the old size', async () => {
    arm.faults.add({ call: 'start', count: null, effect: NO_ROOM })

    expect(await run('restoreMachine', job)).toMatchObject({ kind: 'noCapacity', wasDown: true })

    expect(arm.log.acts(false)).toEqual(['updateVm w-1', 'start w-1'])
  })
})
