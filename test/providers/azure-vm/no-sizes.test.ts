import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AzureVmMachines } from '../../../src/providers/azure-vm/machines.js'
import type { ArmCloud } from '../../../src/simulation/arm/arm-cloud.js'
import type { ArmFaultEffect } from '../../../src/simulation/arm/arm-faults.js'
import { kindOf, signal, theMachine } from '../machines-contract.js'
import { jobFor, runner, worldOf } from './saga.js'
import { addVm, machinesOn, startArm } from './stand-in.js'

const wants = { offerings: [], rootDiskGiB: null, affinityGroups: null }
const answer = (status: number, retryAfterSeconds: number): ArmFaultEffect => ({
  ...{
    kind: 'answer',
    status,
    retryAfterSeconds,
    error: { code: 'OperationNotAllowed', message: 'not now' },
  },
})

describe('Azure VMs while the sizes of the region cannot be listed', () => {
  let arm: ArmCloud
  let machines: AzureVmMachines

  beforeEach(async () => {
    arm = await startArm({ delays: { startMs: 100 } })
    machines = machinesOn(arm)
    addVm(arm, 'w-1', { power: 'deallocated' })
  })
  afterEach(() => arm.close())

  const asked = () => arm.log.all().filter(({ call }) => call === 'skus').length

  it.each([
    ['throttles', answer(429, 600)],
    ['fails', answer(503, 0)],
  ])(
    'B26 starts a VM that is off though Azure %s, and does not ask again at every look',
    async (_, effect) => {
      arm.faults.add({ call: 'skus', count: null, effect })
      const machine = await theMachine(machines, 'w-1')

      expect(machine).toMatchObject({ power: 'stopped', offering: 'Standard_D2s_v3', cpu: null })
      expect(await runner(worldOf(machines))('startMachine', jobFor(machine, wants))).toEqual({
        kind: 'running',
      })

      expect(arm.vm('w-1').power).toBe('running')
      expect(asked()).toBe(1)
    },
  )

  it('CKS-00 lists none of them: what is out of date cannot be told', async () => {
    arm.faults.add({ call: 'skus', count: null, effect: answer(503, 0) })

    expect(await kindOf(machines.list(signal()))).toBe('unreachable')
  })
})
