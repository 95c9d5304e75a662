import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { matchMachines } from '../../../src/core/membership.js'
import { AzureVmMachines } from '../../../src/providers/azure-vm/machines.js'
import { azureVmOptions } from '../../../src/providers/azure-vm/options.js'
import type { ArmCloud } from '../../../src/simulation/arm/arm-cloud.js'
import { aNode } from '../../support/builders.js'
import { ended, kindOf, signal, theMachine } from '../machines-contract.js'
import { addVm, GROUP, machinesOn, startArm } from './stand-in.js'

describe('Azure VMs', () => {
  let arm: ArmCloud
  let machines: AzureVmMachines

  beforeEach(async () => {
    arm = await startArm()
    machines = machinesOn(arm)
  })
  afterEach(() => arm.close())

  it('is what the VM, its disk and its size say together, whatever the letter case', async () => {
    const placementGroup = arm.addPlacementGroup({ resourceGroup: GROUP, name: 'ppg-a' }).toUpperCase()
    const hostGroup = arm.addHostGroup({ resourceGroup: GROUP, name: 'reserved' })
    addVm(arm, 'W-1', { size: 'standard_D4S_v3', osDiskGiB: 128, placementGroup, hostGroup })

    expect(await theMachine(machines, 'W-1')).toEqual({
      id: 'W-1',
      name: 'W-1',
      providerId: `azure:///subscriptions/${arm.settings.subscriptionId}/resourceGroups/${GROUP}/providers/Microsoft.Compute/virtualMachines/W-1`,
      power: 'running',
      operation: null,
      offering: 'Standard_D4s_v3',
      rootDiskGiB: 128,
      rootDiskFixed: null,
      affinityGroups: [
        { name: 'ppg-a', explicitDedication: false },
        { name: 'reserved', explicitDedication: true },
      ],
      cpu: 4,
      memoryMiB: 16_384,
    })
  })

  it('CKS-00 is matched to its node by providerID in any letter case, never by name', async () => {
    const vm = addVm(arm, 'Pool-VM-11', { computerName: 'w-1' })
    addVm(arm, 'w-1', { computerName: 'other' })
    const node = aNode('w-1', { providerId: arm.providerIdOf(vm).toUpperCase() })

    const matches = matchMachines([node], await machines.list(signal()))

    expect(matches.get('w-1')?.map(({ name }) => name)).toEqual(['Pool-VM-11'])
  })

  it('CKS-21 does not know the CPU and memory of a size that Azure no longer lists', async () => {
    addVm(arm, 'w-1', { size: 'Standard_D2s_v1' })

    expect(await machines.list(signal())).toMatchObject([
      { name: 'w-1', offering: 'Standard_D2s_v1', cpu: null, memoryMiB: null },
    ])
  })

  it('keeps to the VMs with its tag, where there is one', async () => {
    addVm(arm, 'w-1', { tags: { Cluster: 'prod' } })
    addVm(arm, 'bastion', {})
    const tagged = machinesOn(arm, { tag: 'cluster=prod' })

    expect((await tagged.list(signal())).map(({ name }) => name)).toEqual(['w-1'])
    expect(await tagged.get('bastion', signal())).toBeNull()
  })

  it('asks each VM for its state where a list does not come with them', async () => {
    for (const name of ['w-1', 'w-2']) addVm(arm, name)
    const error = { code: 'InvalidParameter', message: 'expand needs a filter' }
    arm.faults.add({ call: 'listVms', count: 1, effect: { kind: 'answer', status: 400, error } })

    expect((await machines.list(signal())).map(({ power }) => power)).toEqual(['running', 'running'])
    expect(arm.log.all().filter(({ call }) => call === 'getVm')).toHaveLength(2)
  })

  it.each([
    ['creating', 'unknown', 'creating'],
    ['updating', 'running', 'updating'],
    ['failed', 'running', null],
  ] as const)('a VM that is %s shows power %s and operation %s', async (state, power, operation) => {
    addVm(arm, 'w-1')
    arm.change('w-1', (vm) => {
      vm.provisioningState = state === 'creating' ? 'Creating' : state === 'updating' ? 'Updating' : 'Failed'
      if (state === 'creating') Object.assign(vm, { power: 'unheard-of' })
    })

    expect(await theMachine(machines, 'w-1')).toMatchObject({ power, operation })
  })

  it('B18 a VM that was stopped from inside is deallocated before it is changed', async () => {
    addVm(arm, 'w-1')
    arm.change('w-1', (vm) => {
      vm.power = 'stopped'
    })
    expect(await theMachine(machines, 'w-1')).toMatchObject({ power: 'stopped', operation: null })

    await ended(machines, await machines.setOffering('w-1', 'Standard_D4s_v3', signal()))
    await ended(machines, await machines.setOffering('w-1', 'Standard_D4s_v3', signal()))

    expect(arm.log.acts()).toEqual(['deallocate w-1', 'updateVm w-1'])
    expect(arm.vm('w-1')).toMatchObject({ power: 'deallocated', size: 'Standard_D4s_v3' })
  })

  it('CKS-17 sends only what differs, and only if nobody wrote in between', async () => {
    arm.addPlacementGroup({ resourceGroup: GROUP, name: 'ppg-a' })
    addVm(arm, 'w-1', { power: 'deallocated' })

    await ended(machines, await machines.setOffering('w-1', 'Standard_D4s_v3', signal()))
    await ended(machines, await machines.growRootDisk('w-1', 100, signal()))
    await ended(machines, await machines.setAffinityGroups('w-1', ['ppg-a'], signal()))
    await ended(machines, await machines.setAffinityGroups('w-1', [], signal()))

    const group = { id: expect.stringMatching(/proximityPlacementGroups\/ppg-a$/) }
    const writes = arm.log.all().filter(({ method }) => method !== 'GET')
    expect(writes.map(({ method, body }) => [method, body])).toEqual([
      ['PATCH', { properties: { hardwareProfile: { vmSize: 'Standard_D4s_v3' } } }],
      ['PATCH', { properties: { diskSizeGB: 100 } }],
      ['PATCH', { properties: { proximityPlacementGroup: group } }],
      ['PATCH', { properties: { proximityPlacementGroup: {} } }],
    ])
    expect(writes[0]?.headers['if-match']).toMatch(/^"\d+"$/)

    arm.onRequest({ call: 'updateVm' }, () => arm.change('w-1', () => undefined), 'arrival')
    expect(await kindOf(machines.setOffering('w-1', 'Standard_D2s_v3', signal()))).toBe('conflict')
  })

  it('refuses two groups, and to shrink a disk', async () => {
    addVm(arm, 'w-1', { power: 'deallocated' })

    expect(await kindOf(machines.setAffinityGroups('w-1', ['a', 'b'], signal()))).toBe('refused')
    expect(await kindOf(machines.growRootDisk('w-1', 10, signal()))).toBe('refused')
    expect(arm.log.acts(false)).toEqual([])
  })

  it('keeps the URL of an operation whole, and asks at no other server with its token', async () => {
    addVm(arm, 'w-1')
    const operation = await machines.stop('w-1', signal())

    expect(operation?.length).toBeGreaterThan(3_000)
    const elsewhere = 'https://elsewhere.example/operations/1'
    expect(await machines.operation(elsewhere, signal())).toMatchObject({ kind: 'forgotten' })
  })

  it('does not ask for an operation before it was told to, nor call again while it is throttled', async () => {
    await arm.close()
    arm = await startArm({ retryAfterSeconds: 5, delays: { deallocateMs: 50 } })
    machines = machinesOn(arm)
    addVm(arm, 'w-1')
    const operation = (await machines.stop('w-1', signal())) ?? ''
    const polls = () => arm.log.all().filter(({ call }) => call === 'operation').length

    expect(await machines.operation(operation, signal())).toEqual({ kind: 'running' })
    expect(polls()).toBe(0)
    expect(await ended(machines, operation)).toEqual({ kind: 'done' })

    const error = { code: 'OperationNotAllowed', message: 'too many requests' }
    arm.faults.add({
      call: 'start',
      count: 1,
      effect: { kind: 'answer', status: 429, error, retryAfterSeconds: 60 },
    })
    const first = await machines.start('w-1', signal()).catch((failure: unknown) => failure)
    const second = await machines.start('w-1', signal()).catch((failure: unknown) => failure)
    expect(first).toMatchObject({ kind: 'throttled', retryAfterSeconds: 60 })
    expect(second).toMatchObject({ kind: 'throttled', retryAfterSeconds: expect.any(Number) })
    expect(arm.log.acts(false).filter((act) => act === 'start w-1')).toHaveLength(1)
    // Other calls have buckets of their own.
    expect(await theMachine(machines, 'w-1')).toMatchObject({ power: 'stopped' })
  })

  it('does without an operation where Azure names none: the VM tells', async () => {
    addVm(arm, 'w-1', { power: 'deallocated' })
    arm.faults.add({ call: 'updateVm', count: 1, effect: { kind: 'noAsyncHeader' } })

    expect(await machines.setOffering('w-1', 'Standard_D4s_v3', signal())).toBeNull()
    await ended(machines, null)
  })

  it('refuses a certificate it was not told to trust', async () => {
    addVm(arm, 'w-1')
    const { subscriptionId } = arm.settings
    const distrusting = new AzureVmMachines(azureVmOptions.parse({ subscriptionId, resourceGroup: GROUP }), {
      ...{ endpoint: arm.url, scope: null, ca: null, requestsPerSecond: 20 },
    })

    expect(await kindOf(distrusting.list(signal()))).toBe('unreachable')
    expect(arm.log.all()).toEqual([])
  })
})
