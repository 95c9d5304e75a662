import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { AzureBed, D4 } from '../providers/azure-vm/azure-bed.js'
import { isCordoned } from '../support/batch-nodes.js'
import { marksOf } from '../support/rollout-bed.js'
import type { WorkerProcess } from '../support/worker-process.js'

const DELAYS = { deallocateMs: 400, startMs: 400, updateMs: 300, diskMs: 200, bootMs: 100 }
const CALLS = ['deallocate', 'updateVm', 'updateDisk', 'start'] as const

describe('Azure VMs and processes that die', () => {
  let azure: AzureBed

  beforeAll(async () => {
    azure = await AzureBed.open()
  })
  afterEach(() => azure.bed.clean())
  afterAll(() => azure.bed.close())

  async function expectEachOnce(names: readonly string[]): Promise<void> {
    for (const name of names) {
      expect(azure.acts().filter((act) => act.endsWith(` ${name}`))).toEqual(
        CALLS.map((call) => `${call} ${name}`),
      )
      expect(azure.arm.vm(name)).toMatchObject({ power: 'running', size: D4 })
      const node = await azure.bed.node(name)
      expect([marksOf(node), isCordoned(node)]).toEqual([[], false])
    }
    expect(await azure.bed.record()).toMatchObject({ state: 'Running' })
    expect(await azure.bed.leaseHolder()).toBeNull()
  }

  it('CKS-24 kill -9 of the worker after each accepted call: one effective deallocate and one effective start', async () => {
    await azure.startCluster({ workers: CALLS.length, delays: DELAYS })
    let current: WorkerProcess = await azure.bed.startWorkerProcess()
    let kills = 0
    for (const [at, call] of CALLS.entries()) {
      const off = azure.arm.onRequest({ call, vm: `w-${at + 1}` }, async () => {
        off()
        kills++
        current.kill()
        current = await azure.bed.startWorkerProcess()
      })
    }

    const end = await azure.bed.endOf(
      await azure.bed.start(
        azure.spec({ pools: { worker: { offering: D4, rootDiskGiB: 128 } }, batchTimeout: '120s' }),
      ),
    )

    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', done: { count: 4 } } })
    expect(kills).toBe(CALLS.length)
    await expectEachOnce(['w-1', 'w-2', 'w-3', 'w-4'])
  }, 240_000)
})
