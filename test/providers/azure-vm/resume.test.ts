import { MockActivityEnvironment } from '@temporalio/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { resizeMachine } from '../../../src/activities/resize-machine.js'
import { startMachine } from '../../../src/activities/start-machine.js'
import type { NodeJob } from '../../../src/api/activities.js'
import type { ArmCloud } from '../../../src/simulation/arm/arm-cloud.js'
import { waitUntil } from '../../support/wait.js'
import { theMachine } from '../machines-contract.js'
import { jobFor, worldOf } from './saga.js'
import { addVm, machinesOn, startArm } from './stand-in.js'

const D4 = 'Standard_D4s_v3'

/** The first attempt dies once its call was accepted; the second one starts in another process: a provider of its own. */
describe('an attempt that takes over from one that died', () => {
  let arm: ArmCloud
  let job: NodeJob

  beforeEach(async () => {
    arm = await startArm({ delays: { startMs: 300, updateMs: 300 } })
    addVm(arm, 'w-1', { power: 'deallocated' })
    const machine = await theMachine(machinesOn(arm), 'w-1')
    job = jobFor(machine, { offerings: [D4], rootDiskGiB: null, affinityGroups: null })
  })
  afterEach(() => arm.close())

  it('learns from the operation’s URL in the heartbeat that there was no room, and starts nothing again', async () => {
    const error = { code: 'ZonalAllocationFailed', message: 'no room in this zone' }
    arm.faults.add({ call: 'start', count: 1, effect: { kind: 'operationFails', error } })

    const details = await dies((world) => startMachine(world)(job), 'start')
    const started = await resumes((world) => startMachine(world)(job), details)

    expect(details).toMatchObject({
      act: 'start',
      operation: expect.stringMatching(/^https:.*\/operations\//),
    })
    expect(JSON.stringify(details).length).toBeLessThan(6_000)
    expect(started).toMatchObject({
      kind: 'noCapacity',
      why: expect.stringContaining('ZonalAllocationFailed'),
    })
    expect(arm.log.acts(false)).toEqual(['start w-1'])
  })

  it.each(['forgotten', 'known'])('decides by the VM when the operation is %s', async (how) => {
    if (how === 'forgotten') arm.faults.add({ call: 'updateVm', count: 1, effect: { kind: 'forgotten' } })
    const resize = { ...job, offering: D4 }

    const details = await dies((world) => resizeMachine(world)(resize), 'updateVm')
    await resumes((world) => resizeMachine(world)(resize), details)

    expect(arm.vm('w-1').size).toBe(D4)
    expect(arm.log.acts(false)).toEqual(['updateVm w-1'])
  })

  it('does without the heartbeat, too: what it carried may have been lost', async () => {
    await dies((world) => startMachine(world)(job), 'start')
    const started = await resumes((world) => startMachine(world)(job), undefined)

    expect(started).toEqual({ kind: 'running' })
    expect(arm.log.acts(false)).toEqual(['start w-1'])
  })

  it.each([
    ['cancelled', { canceled: true }],
    ['overtaken by another', {}],
  ])('B26 says why its operation was %s when it comes to nothing', async (_, how) => {
    const error = { code: 'OperationPreempted', message: 'preempted by a more recent operation' }
    arm.faults.add({ call: 'start', count: null, effect: { kind: 'operationFails', error, ...how } })

    await expect(resumes((world) => startMachine(world)(job), undefined)).rejects.toMatchObject({
      type: 'MachineFailed',
      message: expect.stringMatching(/accepted 2 times.*OperationPreempted: preempted by a more recent/),
    })
  })

  /** Runs an attempt until its call was accepted and its heartbeat says so, then ends it. */
  async function dies(
    step: (world: ReturnType<typeof worldOf>) => Promise<unknown>,
    call: string,
  ): Promise<unknown> {
    let details: unknown
    const environment = new MockActivityEnvironment({
      attempt: 1,
      scheduledTimestampMs: Date.now(),
      scheduleToCloseTimeoutMs: 60_000,
    })
    environment.on('heartbeat', (seen: unknown) => {
      details = seen
    })
    const attempt = environment.run(() => step(worldOf(machinesOn(arm)))).catch(() => undefined)
    await waitUntil(() => arm.log.acts(false).includes(`${call} w-1`), {
      for: `${call} to be accepted`,
      everyMs: 2,
    })
    await waitUntil(() => (details as { act?: string } | undefined)?.act !== undefined, {
      ...{ for: 'a heartbeat that carries it', timeoutMs: 4_000 },
    }).catch(() => undefined)
    environment.cancel()
    await attempt
    return details
  }

  async function resumes<T>(
    step: (world: ReturnType<typeof worldOf>) => Promise<T>,
    heartbeatDetails: unknown,
  ): Promise<T> {
    const environment = new MockActivityEnvironment({
      ...{ attempt: 2, heartbeatDetails, scheduledTimestampMs: Date.now(), scheduleToCloseTimeoutMs: 60_000 },
    })
    return environment.run(() => step(worldOf(machinesOn(arm))))
  }
})
