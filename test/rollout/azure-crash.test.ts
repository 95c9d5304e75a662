import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { ArmFault } from '../../src/simulation/arm/arm-faults.js'
import { AzureBed, D2, D4 } from '../providers/azure-vm/azure-bed.js'
import { GROUP } from '../providers/azure-vm/stand-in.js'
import { isCordoned } from '../support/batch-nodes.js'
import { marksOf } from '../support/rollout-bed.js'
import type { WorkerProcess } from '../support/worker-process.js'

const DELAYS = { deallocateMs: 400, startMs: 400, updateMs: 300, diskMs: 200, bootMs: 100 }
/** A roll with a new size, a larger disk and another group: the second update of the VM moves it. */
const CALLS = ['deallocate', 'updateVm', 'updateDisk', 'updateVm', 'start'] as const
const WANTED = { worker: { offering: D4, rootDiskGiB: 128, affinityGroups: ['ppg-a'] } }

/** The worker sends heartbeats every five seconds at the least (create-worker.ts): by then one with the URL is out. */
const HEARTBEAT_OUT_MS = 6_000

describe('Azure VMs and processes that die', () => {
  let azure: AzureBed

  beforeAll(async () => {
    azure = await AzureBed.open()
  })
  afterEach(() => azure.bed.clean())
  afterAll(() => azure.bed.close())

  async function startCluster(workers: number, delays: typeof DELAYS): Promise<void> {
    await azure.startCluster({
      ...{ workers, delays },
      prepare: (arm) => arm.addPlacementGroup({ resourceGroup: GROUP, name: 'ppg-a' }),
    })
  }

  /** Calls when Azure has accepted this call of the roll, and is about to say so. */
  function onAccepted(at: number, vm: string, then: () => Promise<void> | void): void {
    const call = CALLS[at] as (typeof CALLS)[number]
    let earlier = CALLS.slice(0, at).filter((one) => one === call).length
    const off = azure.arm.onRequest({ call, vm }, () => {
      if (earlier-- > 0) return undefined
      off()
      return then()
    })
  }

  async function expectEachOnce(names: readonly string[], acts = azure.acts()): Promise<void> {
    for (const name of names) {
      expect(acts.filter((act) => act.endsWith(` ${name}`))).toEqual(CALLS.map((call) => `${call} ${name}`))
      expect(azure.arm.vm(name)).toMatchObject({
        ...{ power: 'running', size: D4, placementGroup: expect.stringMatching(/ppg-a$/) },
      })
      expect(azure.arm.osDisk(name).sizeGiB).toBe(128)
      const node = await azure.bed.node(name)
      expect([marksOf(node), isCordoned(node)]).toEqual([[], false])
    }
    expect(await azure.bed.record()).toMatchObject({ state: 'Running' })
    expect(await azure.bed.leaseHolder()).toBeNull()
  }

  it('CKS-24 kill -9 of the worker after each accepted call: one effective deallocate and one effective start', async () => {
    await startCluster(1, DELAYS)
    let current: WorkerProcess = await azure.bed.startWorkerProcess()
    let kills = 0
    for (const at of CALLS.keys()) {
      onAccepted(at, 'w-1', async () => {
        kills++
        current.kill()
        current = await azure.bed.startWorkerProcess()
      })
    }

    const end = await azure.bed.endOf(
      await azure.bed.start(azure.spec({ pools: WANTED, machineTimeout: '60s', batchTimeout: '180s' })),
    )

    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', done: { names: ['w-1'] } } })
    expect(kills).toBe(CALLS.length)
    await expectEachOnce(['w-1'])
  }, 240_000)

  it('CKS-24, B19 a worker killed while a start goes on: the next one learns from the operation’s URL that there was no room', async () => {
    await startCluster(1, { ...DELAYS, startMs: 3_600_000 })
    const error = { code: 'ZonalAllocationFailed', message: 'no room in this zone' }
    azure.arm.faults.add({ call: 'start', size: D4, effect: { kind: 'operationFails', error }, count: 1 })
    let current: WorkerProcess = await azure.bed.startWorkerProcess()
    let accepted = Number.POSITIVE_INFINITY
    let killed = false
    azure.arm.onRequest({ call: 'start' }, () => {
      accepted = Math.min(accepted, Date.now())
    })
    azure.arm.onRequest(
      { call: 'operation' },
      async () => {
        if (killed) return azure.arm.finishOperations()
        if (Date.now() - accepted < HEARTBEAT_OUT_MS) return
        killed = true
        current.kill()
        current = await azure.bed.startWorkerProcess()
      },
      'arrival',
    )

    const end = await azure.bed.endOf(
      await azure.bed.start(azure.spec({ pools: WANTED, machineTimeout: '90s', batchTimeout: '300s' })),
    )

    expect(killed).toBe(true)
    expect(end).toMatchObject({
      kind: 'failed',
      type: 'CapacityUnavailable',
      message: expect.stringContaining('ZonalAllocationFailed'),
      result: { leftCordoned: [], state: 'Running' },
    })
    // One start with the new size, one with the old one; and but for the URL nobody would have asked, and it would not have ended.
    expect(azure.acts(false)).toEqual(
      [...CALLS, 'updateVm', 'updateVm', 'start'].map((call) => `${call} w-1`),
    )
    expect(azure.arm.vm('w-1')).toMatchObject({ power: 'running', size: D2, placementGroup: null })
  }, 240_000)

  it('CKS-24 Azure goes away in the middle of every operation and comes back with it done', async () => {
    const gone: ArmFault['effect'][] = [
      { kind: 'cut' },
      { kind: 'answer', status: 503, error: { code: 'ServerTimeout', message: 'The request timed out.' } },
      {
        kind: 'answer',
        status: 500,
        error: { code: 'MultipleErrorsOccurred', message: 'Please see details.' },
      },
    ]
    await startCluster(1, DELAYS)
    let outages = 0
    for (const at of CALLS.keys()) {
      onAccepted(at, 'w-1', () => {
        // Whatever is asked next meets the outage, in which the operation ends with nobody looking.
        azure.arm.faults.add({ effect: gone[at % gone.length] ?? { kind: 'cut' }, count: 1 })
        const off = azure.arm.onRequest(
          {},
          () => {
            off()
            outages++
            azure.arm.finishOperations()
          },
          'arrival',
        )
      })
    }
    // By itself no operation ends.
    for (const call of CALLS)
      azure.arm.faults.add({ call, vm: 'w-1', effect: { kind: 'neverEnds' }, count: 1 })
    await azure.bed.startWorker()

    const end = await azure.roll({ pools: WANTED, machineTimeout: '60s', batchTimeout: '180s' })

    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', done: { names: ['w-1'] } } })
    expect(outages).toBe(CALLS.length)
    // Nothing was sent twice, and by the operation's own word and the VM's it was known to be done.
    await expectEachOnce(['w-1'], azure.acts(false))
    await expectEachOnce(['w-1'])
  })
})
