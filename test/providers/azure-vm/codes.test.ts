import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { NodeJob } from '../../../src/api/activities.js'
import type { ArmCallName } from '../../../src/simulation/arm/arm-calls.js'
import type { ArmCloud } from '../../../src/simulation/arm/arm-cloud.js'
import { restart } from '../../../src/workflows/strategies/restart.js'
import type { ActContext } from '../../../src/workflows/strategies/strategy.js'
import { signal, theMachine } from '../machines-contract.js'
import { CODES, type CodeRow } from './error-codes.js'
import { jobFor, runner, SPEC, steps, worldOf } from './saga.js'
import { addVm, GROUP, machinesOn, startArm } from './stand-in.js'

/** The strategy is the real one; its steps run here instead of in Temporal. */
vi.mock('../../../src/workflows/steps.js', async () => {
  const { stepHere } = await import('./saga.js')
  return { SLACK_SECONDS: 120, SHORT_SECONDS: 300, step: stepHere }
})

const OLD = 'Standard_D2s_v3'
const NEW = 'Standard_D4s_v3'

/** Each step of a roll, by the request that it sends; the act's place in the order. */
const STEPS = ['stop', 'resize', 'growDisk', 'setGroup', 'start'] as const
type StepName = (typeof STEPS)[number]
const ACTS = ['deallocate', 'updateVm', 'updateDisk', 'updateVm', 'start']

const CONTEXT: ActContext = {
  spec: SPEC,
  enter: () => undefined,
  secondsToBegin: () => 60,
  mayBegin: () => true,
  drainAgain: async () => undefined,
}

describe('every error code at every step of a roll', () => {
  let arm: ArmCloud
  let rows = 0

  beforeAll(async () => {
    arm = await startArm({ retryAfterSeconds: 0 })
    arm.addPlacementGroup({ resourceGroup: GROUP, name: 'ppg-a' })
  })
  afterAll(() => arm.close())

  const table = CODES.flatMap((row) => STEPS.map((at) => ({ ...row, at })))

  it.each(table)('$code ($where) at $at', async (row) => {
    const name = `w-${++rows}`
    addVm(arm, name, { size: OLD, osDiskGiB: 64 })
    const machines = machinesOn(arm)
    steps.run = runner(worldOf(machines))
    const wants = { offerings: [NEW], rootDiskGiB: 100, affinityGroups: ['ppg-a'] }
    const job = jobFor(await theMachine(machines, name), wants)
    strike(name, row)

    const outcome = await roll(job)

    const acts = (effective: boolean) =>
      arm.log
        .acts(effective)
        .filter((act) => act.endsWith(` ${name}`))
        .map((act) => act.split(' ')[0])
    const machine = await machines.get(name, signal())
    expect({ outcome, effective: acts(true), sent: acts(false).length, machine }).toMatchObject(
      expected(row.class, row.at),
    )
    arm.faults.clear()
  })

  /** Hits the first call of that step, or the first question after it, once. */
  function strike(vm: string, { at, where, effect }: CodeRow & { at: StepName }): void {
    const call = {
      stop: 'deallocate',
      resize: 'updateVm',
      growDisk: 'updateDisk',
      setGroup: 'updateVm',
      start: 'start',
    } as const
    const size = at === 'resize' || at === 'setGroup' ? { size: NEW } : {}
    const arrange = () => {
      if (where !== 'poll') return arm.faults.add({ vm, call: call[at], ...size, effect, count: 1 })
      return onNext(vm, call[at], () => arm.faults.add({ vm, call: 'operation', effect, count: 1 }))
    }
    // The second update of the VM is the one that moves it.
    if (at === 'setGroup') onNext(vm, 'updateDisk', arrange)
    else arrange()
  }

  function onNext(vm: string, call: ArmCallName, then: () => void): void {
    const off = arm.onRequest({ vm, call }, () => {
      off()
      then()
    })
  }

  async function roll(job: NodeJob): Promise<string> {
    const acted = await restart.act(job, CONTEXT)
    if (acted.kind !== 'failed') return acted.kind
    if (acted.begun === 'unknown' && acted.step === 'stop') return `${acted.failed.type} at stop`
    const settled = await restart.settle(job, CONTEXT)
    return `${acted.failed.type} at ${acted.step}, ${settled.kind}`
  }
})

function expected(type: CodeRow['class'], at: StepName): object {
  const index = STEPS.indexOf(at)
  const asWanted = { power: 'running', offering: NEW, rootDiskGiB: 100, affinityGroups: [{ name: 'ppg-a' }] }
  const asBefore = { power: 'running', offering: OLD, affinityGroups: [] }
  const all = ACTS.length
  if (type === 'look') return { outcome: 'done', effective: ACTS, sent: all, machine: asWanted }
  if (type === 'again' || type === 'onceMore')
    return { outcome: 'done', effective: ACTS, sent: all + 1, machine: asWanted }

  const failed = type === 'capacity' ? 'CapacityUnavailable' : 'MachineFailed'
  if (at === 'stop') return { outcome: `${failed} at stop`, effective: [], sent: 1, machine: asBefore }
  // A step that fails for lack of room counts against the size, which the start is named for.
  const step = at === 'start' || type === 'capacity' ? 'start' : 'resize'
  const back = [...(index >= 2 ? ['updateVm'] : []), ...(index >= 4 ? ['updateVm'] : []), 'start']
  const done = ACTS.slice(0, index)
  return {
    outcome: `${failed} at ${step}, asBefore`,
    effective: [...done, ...back],
    sent: index + 1 + back.length,
    machine: asBefore,
  }
}
