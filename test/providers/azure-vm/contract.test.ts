import { affinityContract, type GroupedMachinesUnderTest, machinesContract } from '../machines-contract.js'
import { addVm, GROUP, machinesOn, startArm } from './stand-in.js'

async function underTest(): Promise<GroupedMachinesUnderTest> {
  const arm = await startArm()
  const placementGroup = arm.addPlacementGroup({ resourceGroup: GROUP, name: 'ppg-a' })
  arm.addPlacementGroup({ resourceGroup: GROUP, name: 'ppg-b' })
  const hostGroup = arm.addHostGroup({ resourceGroup: GROUP, name: 'reserved' })
  addVm(arm, 'w-1', { placementGroup, hostGroup })
  return {
    machines: machinesOn(arm),
    id: 'w-1',
    otherOffering: 'Standard_D4s_v3',
    otherGroup: 'ppg-b',
    dedicatedGroup: 'reserved',
    cutOff: () => arm.close(),
    fallSilent: () => void arm.onRequest({}, () => new Promise(() => undefined), 'arrival'),
    close: () => arm.close(),
  }
}

machinesContract('azure-vm', underTest)
affinityContract('azure-vm', underTest)
