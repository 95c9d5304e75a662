import { CancelledFailure } from '@temporalio/common'
import { MockActivityEnvironment } from '@temporalio/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { stopMachine } from '../../../src/activities/stop-machine.js'
import type { NodeJob } from '../../../src/api/activities.js'
import type { World } from '../../../src/ports/connections.js'
import type { AzureVmMachines } from '../../../src/providers/azure-vm/machines.js'
import { paceOf } from '../../../src/providers/azure-vm/pace.js'
import type { ArmCloud } from '../../../src/simulation/arm/arm-cloud.js'
import { waitUntil } from '../../support/wait.js'
import { signal, theMachine } from '../machines-contract.js'
import { jobFor, SPEC, worldOf } from './saga.js'
import { addVm, machinesOn, startArm } from './stand-in.js'

/** Four writes in a burst, then one in two and a half seconds. */
const PER_SECOND = 1
const BURST = 4
/** Of the test itself, to see whether a run before did it all, and to see that it is to be stopped. */
const DISKS_READ = 3

describe('a call that changes a VM, and its turn', () => {
  let arm: ArmCloud
  let machines: AzureVmMachines
  let job: NodeJob

  beforeEach(async () => {
    arm = await startArm()
    addVm(arm, 'w-1')
    machines = machinesOn(arm, {}, { requestsPerSecond: PER_SECOND })
    job = jobFor(await theMachine(machines, 'w-1'), {
      ...{ offerings: ['Standard_D4s_v3'], rootDiskGiB: null, affinityGroups: null },
    })
  })
  afterEach(() => arm.close())

  it('CKS-15 is throttled with when to come back, and has its place when it does', async () => {
    othersCome(BURST)

    const early = machines.stop('w-1', signal())

    await expect(early).rejects.toMatchObject({ kind: 'throttled', retryAfterSeconds: 3 })
    othersCome(10)
    expect(machines.turn('w-1')).toBeLessThan(2.5)
    expect(arm.log.acts(false)).toEqual([])
  })

  it('CKS-15 waits for its turn before the last look, so that the look is fresh when the VM is stopped', async () => {
    othersCome(BURST)
    const looks: number[] = []
    const stopped = stop(new MockActivityEnvironment(environment()), (at) => looks.push(at))

    expect(await stopped).toEqual({ kind: 'stopped' })

    const [sent] = arm.log.all().filter(({ call }) => call === 'deallocate')
    const [first = 0] = arm.log.all().map(({ at }) => at)
    expect((sent?.at ?? 0) - first).toBeGreaterThan(2_000)
    expect((sent?.at ?? 0) - (looks.at(-1) ?? 0)).toBeLessThan(1_000)
    // Whoever waits in line does not use up the turns of those who ask.
    expect(arm.log.all().filter(({ call }) => call === 'getVm').length).toBeLessThan(10)
  })

  it('CKS-20 sends nothing, and has looked at nothing, when it is cancelled in line', async () => {
    othersCome(BURST)
    const looks: number[] = []
    const activity = new MockActivityEnvironment(environment())
    const stopped = stop(activity, (at) => looks.push(at)).catch((error: unknown) => error)
    await waitUntil(() => arm.log.all().filter(({ call }) => call === 'getDisk').length === DISKS_READ, {
      ...{ for: 'the VM to be seen', everyMs: 5 },
    })
    activity.cancel()

    expect(await stopped).toBeInstanceOf(CancelledFailure)

    expect(looks).toEqual([])
    expect(arm.log.acts(false)).toEqual([])
  })

  function othersCome(count: number): void {
    const { writes } = paceOf(arm.url, arm.settings.subscriptionId, PER_SECOND)
    for (let at = 0; at < count; at++) writes.place()
  }

  function stop(activity: MockActivityEnvironment, looked: (at: number) => void): Promise<unknown> {
    const world = worldOf(machines)
    const watched = {
      ...world,
      connect: async (...target: Parameters<World['connect']>) => {
        const connections = await world.connect(...target)
        const lease = async () => {
          looked(Date.now())
          return connections.records.lease(signal())
        }
        return { ...connections, records: { lease } }
      },
    } as unknown as World
    return activity.run(() => stopMachine(watched)({ ...job, spec: SPEC, notAfterSeconds: 60 }))
  }
})

function environment() {
  return { attempt: 1, scheduledTimestampMs: Date.now(), scheduleToCloseTimeoutMs: 60_000 }
}
