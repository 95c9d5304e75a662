import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { AzureBed, D2, D4 } from '../providers/azure-vm/azure-bed.js'
import { GROUP } from '../providers/azure-vm/stand-in.js'
import { eventsOn, isCordoned, isReady, untilReadiness } from '../support/batch-nodes.js'
import { marksOf } from '../support/rollout-bed.js'
import { storedSettings } from '../support/story-world.js'

const SLOW = { deallocateMs: 150, startMs: 150, updateMs: 100, diskMs: 50, bootMs: 50 }

describe('a rollout on Azure VMs', () => {
  let azure: AzureBed

  beforeAll(async () => {
    azure = await AzureBed.open()
  })
  afterEach(() => azure.bed.clean())
  afterAll(() => azure.bed.close())

  it('CKS-17, CKS-18 deallocates, resizes, grows the disk, moves and starts each VM once, and verifies a new boot', async () => {
    await azure.startCluster({
      delays: SLOW,
      prepare: (arm) => arm.addPlacementGroup({ resourceGroup: GROUP, name: 'ppg-a' }),
    })
    await azure.bed.startWorker()
    const boots = (await azure.bed.nodes()).map(({ status }) => status.nodeInfo.bootID)

    const end = await azure.roll({
      pools: { worker: { offering: D4, rootDiskGiB: 128, affinityGroups: ['ppg-a'] } },
    })

    expect(end).toMatchObject({
      kind: 'completed',
      result: { outcome: 'done', state: 'Running', done: { names: ['w-1', 'w-2'] } },
    })
    expect(azure.acts(false)).toEqual(
      ['w-1', 'w-2'].flatMap((name) =>
        ['deallocate', 'updateVm', 'updateDisk', 'updateVm', 'start'].map((act) => `${act} ${name}`),
      ),
    )
    for (const name of ['w-1', 'w-2']) {
      const node = await azure.bed.node(name)
      expect(azure.arm.vm(name)).toMatchObject({ power: 'running', size: D4 })
      expect(boots).not.toContain(node.status.nodeInfo.bootID)
      expect([node.status.capacity.cpu, marksOf(node), isCordoned(node), isReady(node)]).toEqual([
        '4',
        [],
        false,
        true,
      ])
    }
  })

  it('B18, CKS-11 a VM that was shut down from inside is deallocated, changed and started, before any other', async () => {
    await azure.startCluster({ delays: SLOW })
    azure.arm.change('w-2', (vm) => {
      vm.power = 'stopped'
    })
    await untilReadiness(azure.bed, 'w-2', false)
    await azure.bed.startWorker()

    const end = await azure.roll({ pools: { worker: { offering: D4 } } })

    expect(end).toMatchObject({
      kind: 'completed',
      result: { done: { names: ['w-2', 'w-1'] }, state: 'Running' },
    })
    expect(azure.acts(false)).toEqual(
      ['w-2', 'w-1'].flatMap((name) => [`deallocate ${name}`, `updateVm ${name}`, `start ${name}`]),
    )
  })

  it('CKS-21 counts CPU and memory from the real sizes', async () => {
    await azure.startCluster()
    await azure.bed.startWorker()

    await azure.roll({ pools: { worker: { offering: D4 } } })

    expect(JSON.parse((await azure.bed.record())?.capacity ?? 'null')).toMatchObject({
      cpu: 8,
      memoryMiB: 32_768,
    })
  })

  it('CKS-06 clusterStatus reads settings and VMs out of date, and writes nothing to Azure', async () => {
    await azure.startCluster()
    await azure.bed.startWorker()
    await azure.roll({ pools: { worker: { offering: D4 } }, rollout: false })
    const { cluster, kubernetes, machines } = azure.spec()

    const status = await azure.bed.endOf(
      await azure.bed.startType('clusterStatus', { cluster, kubernetes, machines }),
    )

    expect(status).toMatchObject({
      kind: 'completed',
      result: { pools: [{ pool: 'worker', outOfDate: 2, settings: { offerings: [D4], rootDiskGiB: 64 } }] },
    })
    expect(azure.acts(false)).toEqual([])
  })

  it('B18, CKS-17 a size that the hardware of the VM does not have: deallocate, one PATCH of the size, start, by the power state', async () => {
    await azure.startCluster({ delays: SLOW, workers: 1, clusterSizes: [D2] })
    await azure.bed.startWorker()

    const end = await azure.roll({ pools: { worker: { offering: D4 } } })

    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', done: { names: ['w-1'] } } })
    const told = azure.arm.log.all().filter(({ vm }) => vm === 'w-1')
    expect(told.some(({ method, call }) => method === 'PUT' || call === 'powerOff')).toBe(false)
    const patches = told.filter(({ method }) => method === 'PATCH')
    expect(patches.map(({ body }) => body)).toEqual([{ properties: { hardwareProfile: { vmSize: D4 } } }])
    // Between two acts the VM itself was read and found in the state that the next one needs.
    expect(powersSeenBefore('updateVm')).toContain('PowerState/deallocated')
    expect(powersSeenBefore('start')).toContain('PowerState/deallocated')
    const start = told.findIndex(({ call }) => call === 'start')
    const running = told.slice(start).filter(({ call }) => call === 'getVm')
    expect(JSON.stringify(running.map(({ answerBody }) => answerBody))).toContain('PowerState/running')
  })

  /** The last power state that was answered before a call of this kind was sent. */
  function powersSeenBefore(call: string): string[] {
    const all = azure.arm.log.all()
    const at = all.findIndex((request) => request.call === call)
    const view = all.slice(0, at).findLast((request) => request.call === 'getVm')
    return JSON.stringify(view?.answerBody).match(/PowerState\/\w+/g) ?? []
  }

  it('CKS-10 is out of date by size, by a smaller disk and by groups; any size of a list and a larger disk are not', async () => {
    await azure.startCluster({
      workers: 0,
      prepare: (arm) => arm.addPlacementGroup({ resourceGroup: GROUP, name: 'ppg-a' }),
    })
    const placementGroup = `/subscriptions/${azure.arm.settings.subscriptionId}/resourceGroups/${GROUP.toUpperCase()}/providers/Microsoft.Compute/proximityPlacementGroups/PPG-A`
    const right = { size: D4, osDiskGiB: 128, placementGroup }
    azure.cluster.addVm('right', right)
    azure.cluster.addVm('second', { ...right, size: 'Standard_DS2_v2' })
    azure.cluster.addVm('larger', { ...right, osDiskGiB: 256 })
    azure.cluster.addVm('small', { ...right, size: D2 })
    azure.cluster.addVm('tight', { ...right, osDiskGiB: 64 })
    const { placementGroup: _, ...apart } = right
    azure.cluster.addVm('apart', apart)
    const names = ['right', 'second', 'larger', 'small', 'tight', 'apart']
    await azure.cluster.kubelets.untilReady(names)
    await azure.bed.startWorker()

    const end = await azure.roll({
      pools: { worker: { offering: [D4, 'Standard_DS2_v2'], rootDiskGiB: 128, affinityGroups: ['ppg-a'] } },
    })

    // A disk larger than asked for is refused for a shrink: so it is left out of the request below.
    expect(end).toMatchObject({
      kind: 'failed',
      type: 'SettingsRefused',
      message: expect.stringMatching(/larger/),
    })
    azure.arm.osDisk('larger').sizeGiB = 128
    const again = await azure.roll({
      pools: { worker: { offering: [D4, 'Standard_DS2_v2'], rootDiskGiB: 128, affinityGroups: ['ppg-a'] } },
    })
    expect(again).toMatchObject({
      kind: 'completed',
      result: { done: { names: ['apart', 'small', 'tight'] } },
    })
    expect(azure.acts()).toEqual([
      ...['deallocate apart', 'updateVm apart', 'start apart'],
      ...['deallocate small', 'updateVm small', 'start small'],
      ...['deallocate tight', 'updateDisk tight', 'start tight'],
    ])
  })

  it('CKS-26 the root file system grows with the disk; where it does not, there is a warning and an event', async () => {
    await azure.startCluster({ delays: SLOW })
    azure.cluster.kubelets.script('w-2', { rootFsDoesNotGrow: true })
    await azure.bed.startWorker()
    const storage = async (name: string) =>
      Number.parseInt((await azure.bed.node(name)).status.capacity['ephemeral-storage'] ?? '', 10)
    const before = await storage('w-1')

    const end = await azure.roll({ pools: { worker: { rootDiskGiB: 128 } } })

    expect(end).toMatchObject({
      kind: 'completed',
      result: {
        outcome: 'done',
        warnings: [expect.stringMatching(/RootFsNotGrown: the disk of w-2 grew to 128 GiB/)],
      },
    })
    expect(await storage('w-1')).toBeGreaterThan(before * 1.9)
    expect(await storage('w-2')).toBe(before)
    expect(await eventsOn(azure.bed, 'w-2')).toContain('RootFsNotGrown')
  })

  it('CKS-26 a new placement group holds from the start that honours it', async () => {
    await azure.startCluster({
      workers: 1,
      prepare: (arm) => arm.addPlacementGroup({ resourceGroup: GROUP, name: 'ppg-a' }),
    })
    await azure.bed.startWorker()
    const placed: string[][] = []
    azure.arm.onRequest(
      { call: 'start' },
      () => void placed.push(azure.arm.machine('w-1').placement),
      'arrival',
    )

    await azure.roll({ pools: { worker: { affinityGroups: ['ppg-a'] } } })

    expect(placed).toEqual([[]])
    expect(azure.arm.machine('w-1').placement).toEqual([expect.stringMatching(/ppg-a$/)])
  })

  it('CKS-05 a dedicated host is refused in the settings, kept on the VM and not compared', async () => {
    await azure.startCluster({
      workers: 1,
      prepare: (arm) => {
        arm.addPlacementGroup({ resourceGroup: GROUP, name: 'ppg-a' })
        arm.addHostGroup({ resourceGroup: GROUP, name: 'reserved' })
      },
    })
    const id = `/subscriptions/${azure.arm.settings.subscriptionId}/resourceGroups/${GROUP}/providers/Microsoft.Compute/hostGroups/reserved`
    azure.arm.change('w-1', (vm) => Object.assign(vm, { hostGroup: id }))
    await azure.bed.startWorker()

    const refused = await azure.roll({ pools: { worker: { affinityGroups: ['reserved'] } } })
    const moved = await azure.roll({ pools: { worker: { affinityGroups: ['ppg-a'] } } })
    const again = await azure.roll({ pools: { worker: { affinityGroups: ['ppg-a'] } } })

    expect(refused).toMatchObject({
      kind: 'failed',
      type: 'SettingsRefused',
      message: expect.stringContaining('dedication'),
    })
    expect(moved).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1'] } } })
    expect(again).toMatchObject({ kind: 'completed', result: { done: { count: 0 } } })
    expect(azure.arm.vm('w-1').hostGroup).toBe(id)
    expect((await storedSettings(azure.bed)).worker?.affinityGroups).toEqual(['ppg-a'])
  })

  it.each<[string, object, object]>([
    ['shrinks', {}, { rootDiskGiB: 32 }],
    ['is ephemeral', { ephemeral: true }, { rootDiskGiB: 128 }],
  ])(
    'CKS-04 refuses a disk size with rollout: true where the disk %s, and accepts it without',
    async (_, vm, pool) => {
      await azure.startCluster({ workers: 1, vm })
      await azure.bed.startWorker()

      const refused = await azure.roll({ pools: { worker: pool } })
      const stored = await azure.roll({ pools: { worker: pool }, rollout: false })
      // Stored and out of date by its size: the pool is skipped, with the reason.
      const skipped = await azure.roll({ pools: {} })

      expect(refused).toMatchObject({ kind: 'failed', type: 'SettingsRefused' })
      expect(stored).toMatchObject({ kind: 'completed', result: { outcome: 'stored' } })
      expect(skipped).toMatchObject({ kind: 'completed', result: { done: { count: 0 }, state: 'Running' } })
      expect(azure.acts(false)).toEqual([])
    },
  )

  it('CKS-04 refuses what the quota does not have for all VMs together, and says in the plan what is lost', async () => {
    await azure.startCluster({ limits: { cores: 6 } })
    await azure.bed.startWorker()

    const one = await azure.roll({ pools: { worker: { offering: D4 } } })
    const plan = await azure.bed.endOf(
      await azure.bed.startType('planRollout', azure.spec({ pools: { worker: { offering: D4 } } })),
    )

    expect(one).toMatchObject({
      kind: 'failed',
      type: 'SettingsRefused',
      message: expect.stringMatching(
        /quota cores in southcentralus: 4 of 6 cores are in use and 4 more are needed/,
      ),
    })
    expect(plan).toMatchObject({
      kind: 'completed',
      result: {
        notes: expect.arrayContaining([
          expect.stringContaining('temp disk'),
          expect.stringContaining('public IP'),
        ]),
      },
    })
    expect(azure.acts(false)).toEqual([])
  })

  it('CKS-08, CKS-13, CKS-18 rolls three control VMs one at a time, each a healthy member again before the next', async () => {
    // c-1 leads etcd at first.
    const order = ['c-2', 'c-3', 'c-1']
    await azure.startCluster({ control: 3, workers: 1, delays: SLOW })
    await azure.bed.startWorker()

    const end = await azure.roll({ pools: { control: { offering: D4 } }, batchTimeout: '120s' })

    expect(end).toMatchObject({
      kind: 'completed',
      result: { done: { names: order }, state: 'Running' },
    })
    expect(azure.acts()).toEqual(
      order.flatMap((name) => [`deallocate ${name}`, `updateVm ${name}`, `start ${name}`]),
    )
  })
})
