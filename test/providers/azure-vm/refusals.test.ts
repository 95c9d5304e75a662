import { afterEach, describe, expect, it } from 'vitest'
import type { MachineType } from '../../../src/core/model.js'
import type { MachineWants } from '../../../src/ports/machines.js'
import type { AzureVmMachines } from '../../../src/providers/azure-vm/machines.js'
import type { ArmCloud, ArmCloudOptions } from '../../../src/simulation/arm/arm-cloud.js'
import type { ArmSku } from '../../../src/simulation/arm/arm-skus.js'
import type { NewVm } from '../../../src/simulation/arm/new-vm.js'
import { signal, theMachine } from '../machines-contract.js'
import { addVm, GROUP, machinesOn, REGION, SKUS, startArm } from './stand-in.js'

const NOTHING: MachineWants = { offering: null, rootDiskGiB: null, affinityGroups: null }

let arm: ArmCloud
let machines: AzureVmMachines

afterEach(() => arm.close())

async function start(options: ArmCloudOptions = {}, provider: Record<string, unknown> = {}): Promise<void> {
  arm = await startArm(options)
  machines = machinesOn(arm, provider)
}

async function refused(name: string, wants: Partial<MachineWants>): Promise<string[]> {
  return machines.refusals(await theMachine(machines, name), { ...NOTHING, ...wants }, signal())
}

describe('what is refused before anything is touched', () => {
  it.each<{ why: string; vm?: Partial<NewVm>; offering: string; says: RegExp; location?: string }>([
    { why: 'an unknown size', offering: 'Standard_D99', says: /no size Standard_D99 in southcentralus/ },
    {
      why: 'a size in another letter case',
      offering: 'standard_d4s_V3',
      says: /write it as Standard_D4s_v3/,
    },
    {
      why: 'a size restricted in the region',
      location: 'eastus',
      vm: { size: 'Standard_D2_v2', generation: 'V1' },
      offering: 'Standard_D13_v2_Promo',
      says: /cannot be had in eastus \(NotAvailableForSubscription\)/,
    },
    {
      why: 'a size restricted in the zone',
      location: 'eastus',
      vm: { size: 'Standard_D2_v2', generation: 'V1', zone: '2' },
      offering: 'Standard_NV6',
      says: /Standard_NV6 cannot be had in zone 2 of eastus/,
    },
    {
      why: 'a size that its zone does not offer',
      vm: { size: 'Standard_D128ds_v6', zone: '1', diskController: 'NVMe' },
      offering: 'Standard_D2as_v6',
      says: /Standard_D2as_v6 cannot be had in zone 1/,
    },
    {
      why: 'another architecture',
      offering: 'Standard_D16plds_v5',
      says: /is Arm64 and the VM's image is x64/,
    },
    {
      why: 'the other generation',
      vm: { generation: 'V2' },
      offering: 'Standard_A0',
      says: /cannot boot a generation 2 VM/,
    },
    {
      why: 'a size without temp disk',
      offering: 'Standard_D2_v5',
      says: /lacks a local temp disk and Standard_D2s_v3 has one/,
    },
    {
      why: 'a size with temp disk',
      vm: { size: 'Standard_D2_v5' },
      offering: 'Standard_D2s_v3',
      says: /has a local temp disk and Standard_D2_v5 lacks one/,
    },
    {
      why: 'the other disk controller',
      offering: 'Standard_D2as_v6',
      says: /NVMe disk controllers only and the VM uses SCSI/,
    },
    {
      why: 'premium disks',
      vm: { osDiskSku: 'Premium_LRS' },
      offering: 'Standard_E4d_v5',
      says: /takes no Premium_LRS disks/,
    },
    {
      why: 'a premium data disk of a VM that is off',
      vm: { dataDisks: ['Premium_LRS'], power: 'deallocated' },
      offering: 'Standard_E4d_v5',
      says: /takes no Premium_LRS disks/,
    },
    {
      why: 'too many data disks',
      vm: { size: 'Standard_D4s_v3', dataDisks: Array.from({ length: 5 }, () => 'StandardSSD_LRS') },
      offering: 'Standard_D2s_v3',
      says: /takes 4 data disks and the VM has 5/,
    },
    {
      why: 'too many network interfaces',
      vm: { size: 'Standard_B20ms', networkInterfaces: 3 },
      offering: 'Standard_D4s_v3',
      says: /takes 2 network interfaces and the VM has 3/,
    },
    {
      why: 'an ephemeral OS disk',
      vm: { ephemeral: true },
      offering: 'Standard_D4s_v3',
      says: /ephemeral OS disk cannot be deallocated.*replace the VM/,
    },
  ])('refuses $why, with the reason and what to do', async ({ vm, offering, says, location }) => {
    await start(location === undefined ? {} : { location })
    addVm(arm, 'w-1', vm)

    const reasons = await refused('w-1', { offering })

    expect(reasons).toContainEqual(expect.stringMatching(says))
  })

  it('the stand-in refuses all of that, too: nothing here is our imagination', async () => {
    const cases: [Partial<NewVm>, string, number, string][] = [
      [{}, 'Standard_D99', 400, 'InvalidParameter'],
      [{}, 'Standard_D16plds_v5', 400, 'BadRequest'],
      [{}, 'Standard_A0', 400, 'BadRequest'],
      [{}, 'Standard_D2_v5', 409, 'OperationNotAllowed'],
      [{ osDiskSku: 'Premium_LRS' }, 'Standard_E4d_v5', 400, 'InvalidParameter'],
    ]
    await start()
    for (const [at, [vm, offering, status, code]] of cases.entries()) {
      const { name } = addVm(arm, `w-${at}`, { ...vm, power: 'deallocated' })
      await machines.setOffering(name, offering, signal()).catch(() => undefined)

      const last = arm.log.all().at(-1)
      expect([last?.status, last?.answerBody]).toMatchObject([status, { error: { code } }])
    }
  })

  it('lets a subscription that may change to sizes without temp disk do so', async () => {
    await start({}, { allowTempDiskChange: true })
    addVm(arm, 'w-1')

    expect(await refused('w-1', { offering: 'Standard_D2_v5' })).toEqual([])
  })

  it('CKS-04 says that an ephemeral OS disk cannot change size, and that a disk cannot shrink or be too large', async () => {
    await start()
    addVm(arm, 'w-1', { ephemeral: true })
    addVm(arm, 'w-2')

    expect((await theMachine(machines, 'w-1')).rootDiskFixed).toBe('it is an ephemeral OS disk')
    expect(await refused('w-1', { rootDiskGiB: 128 })).toEqual([expect.stringContaining('ephemeral')])
    expect(await refused('w-2', { rootDiskGiB: 32 })).toEqual([expect.stringContaining('cannot shrink')])
    expect(await refused('w-2', { rootDiskGiB: 5000 })).toEqual([expect.stringContaining('4095 GiB')])
    expect(await refused('w-1', { rootDiskGiB: 64, offering: 'Standard_D2s_v3' })).toEqual([])
  })

  it('checks a size in an availability set against what the set lists, unless the VM is alone in it', async () => {
    await start()
    const set = arm.addAvailabilitySet({ resourceGroup: GROUP, name: 'set-1', sizes: ['Standard_D2s_v3'] })
    const alone = arm.addAvailabilitySet({ resourceGroup: GROUP, name: 'set-2', sizes: ['Standard_D2s_v3'] })
    for (const name of ['w-1', 'w-2']) addVm(arm, name, { availabilitySet: set })
    addVm(arm, 'w-3', { availabilitySet: alone })

    expect(await refused('w-1', { offering: 'Standard_D4s_v3' })).toEqual([
      expect.stringMatching(/hardware of availability set set-1.*deallocate all of its VMs/),
    ])
    expect(await refused('w-3', { offering: 'Standard_D4s_v3' })).toEqual([])
  })

  it('checks a size against what a proximity placement group is for', async () => {
    await start()
    const placementGroup = arm.addPlacementGroup({
      ...{ resourceGroup: GROUP, name: 'ppg-a' },
      intentSizes: ['Standard_D2s_v3'],
    })
    addVm(arm, 'w-1', { placementGroup })

    expect(await refused('w-1', { offering: 'Standard_D4s_v3' })).toEqual([
      expect.stringMatching(/ppg-a is for Standard_D2s_v3, not for Standard_D4s_v3/),
    ])
  })

  it.each([
    [['ppg-a', 'ppg-b'], /one proximity placement group at most, and 2 are asked for/],
    [['PPG-A'], /written in lower case/],
    [['set-1'], /set-1 is an availability set, and a VM stays in the one it was made in/],
    [
      ['/subscriptions/s/resourcegroups/g/providers/microsoft.compute/availabilitysets/x'],
      /is an availability set/,
    ],
    [['reserved'], /dedicated hosts, an explicit dedication/],
    [['nowhere'], /there is no proximity placement group nowhere/],
  ])('refuses the groups %j', async (affinityGroups, says) => {
    await start()
    for (const name of ['ppg-a', 'ppg-b']) arm.addPlacementGroup({ resourceGroup: GROUP, name })
    arm.addAvailabilitySet({ resourceGroup: GROUP, name: 'set-1' })
    arm.addHostGroup({ resourceGroup: GROUP, name: 'reserved' })
    addVm(arm, 'w-1')

    expect(await refused('w-1', { affinityGroups })).toEqual([expect.stringMatching(says)])
  })

  it('refuses a group that the availability set of the VM is not in', async () => {
    await start()
    arm.addPlacementGroup({ resourceGroup: GROUP, name: 'ppg-a' })
    const availabilitySet = arm.addAvailabilitySet({ resourceGroup: GROUP, name: 'set-1' })
    addVm(arm, 'w-1', { availabilitySet })

    expect(await refused('w-1', { affinityGroups: ['ppg-a'] })).toEqual([
      expect.stringMatching(/in availability set set-1, which is in no proximity placement group/),
    ])
  })
})

describe('quota and warnings of all changes together', () => {
  async function together(names: string[], wants: Partial<MachineWants>, type: MachineType = 'worker') {
    const changes = []
    for (const name of names)
      changes.push({ machine: await theMachine(machines, name), type, wants: { ...NOTHING, ...wants } })
    return machines.together(changes, signal())
  }

  it('asks for the difference in the region and for all cores of a new family', async () => {
    // Two VMs of 2 cores of the DSv3 family run.
    await start({ limits: { cores: 10, standardDSv3Family: 8, standardFSv2Family: 31 } })
    for (const name of ['w-1', 'w-2']) addVm(arm, name)

    const same = await together(['w-1', 'w-2'], { offering: 'Standard_D4s_v3' })
    const one = await together(['w-1'], { offering: 'Standard_F16s_v2' })
    const both = await together(['w-1', 'w-2'], { offering: 'Standard_F16s_v2' })

    expect(same.refusals).toEqual({})
    expect(one.refusals['w-1']).toEqual([
      expect.stringMatching(
        /quota cores in southcentralus: 4 of 10 cores are in use and 14 more are needed; ask Azure for at least 18/,
      ),
    ])
    expect(both.refusals['w-2']).toEqual([
      expect.stringContaining('28 more are needed'),
      expect.stringMatching(/quota standardfsv2family in southcentralus: 0 of 31 .* 32 more/),
    ])
  })

  it('CKS-04 does not refuse a VM that shrinks because the family of its size is used up by another', async () => {
    // The two cores that w-1 gives back are not enough for the fourteen that w-2 needs more.
    const big = sizeLike('Standard_D16s_v3', { vCPUs: 16, vCPUsAvailable: 16 })
    await start({ skus: [...SKUS, big], limits: { standardDSv3Family: 8 } })
    addVm(arm, 'w-1', { size: 'Standard_D4s_v3' })
    addVm(arm, 'w-2', { size: 'Standard_D2s_v3' })
    const change = async (name: string, offering: string) => {
      const machine = await theMachine(machines, name)
      return { machine, type: 'worker' as const, wants: { ...NOTHING, offering } }
    }

    const { refusals } = await machines.together(
      [await change('w-1', 'Standard_D2s_v3'), await change('w-2', 'Standard_D16s_v3')],
      signal(),
    )

    expect(refusals).toEqual({
      'w-2': [expect.stringMatching(/quota standarddsv3family .*: 6 of 8 cores are in use and 12 more/)],
    })
  })

  it('CKS-04 counts all cores of a size of which fewer can be used', async () => {
    const half = sizeLike('Standard_D16-8s_v3', { vCPUs: 16, vCPUsAvailable: 8 })
    await start({ skus: [...SKUS, half], limits: { cores: 10 } })
    addVm(arm, 'w-1')

    const { refusals } = await together(['w-1'], { offering: 'Standard_D16-8s_v3' })

    expect(refusals['w-1']).toEqual([expect.stringMatching(/quota cores .* 14 more are needed/)])
    arm.change('w-1', (vm) => {
      vm.size = 'Standard_D16-8s_v3'
    })
    expect(await theMachine(machines, 'w-1')).toMatchObject({ cpu: 8 })
  })

  it('counts spot VMs against the spot quota', async () => {
    await start({ limits: { cores: 0, lowPriorityCores: 3 } })
    addVm(arm, 'w-1', { priority: 'Spot' })

    const { refusals } = await together(['w-1'], { offering: 'Standard_D4s_v3' })

    expect(refusals['w-1']).toEqual([expect.stringContaining('quota lowprioritycores')])
  })

  it('warns of what a deallocation loses, and of control nodes in one datacentre', async () => {
    await start()
    for (const name of ['c-1', 'c-2']) addVm(arm, name)

    const { warnings } = await together(['c-1', 'c-2'], { affinityGroups: ['ppg-a'] }, 'control')

    expect(warnings).toEqual([
      expect.stringMatching(/loses a public IP address that is dynamic \(c-1, c-2\)/),
      expect.stringMatching(/temp disk is lost: c-1, c-2/),
      expect.stringMatching(/ppg-a puts 2 control or etcd machines into one datacentre/),
    ])
  })
})

/** A size like a recorded one but for its cores. */
function sizeLike(name: string, cores: Record<'vCPUs' | 'vCPUsAvailable', number>): ArmSku {
  const like = SKUS.find((sku) => sku.name === 'Standard_D4s_v3' && sku.locations.includes(REGION))
  if (like === undefined) throw new Error('no recorded size to be like')
  const others = (like.capabilities ?? []).filter((one) => !(one.name in cores))
  const own = Object.entries(cores).map(([key, value]) => ({ name: key, value: String(value) }))
  return { ...like, name, capabilities: [...others, ...own] }
}
