import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PortError } from '../../src/ports/errors.js'
import { SimulatedMachines } from '../../src/providers/simulated/machines.js'
import { simulatedOptions } from '../../src/providers/simulated/schema.js'
import { SimulatedCloud } from '../../src/simulation/cloud.js'
import type { FaultEffect } from '../../src/simulation/faults.js'
import {
  affinityContract,
  ended,
  type GroupedMachinesUnderTest,
  kindOf,
  machinesContract,
  signal,
  theMachine,
} from './machines-contract.js'

const GROUPS = [
  { name: 'rack-a', explicitDedication: false },
  { name: 'rack-b', explicitDedication: false },
  { name: 'reserved', explicitDedication: true },
]

const underTest = async (): Promise<GroupedMachinesUnderTest> => {
  const cloud = new SimulatedCloud({ affinityGroups: GROUPS })
  await cloud.start()
  const { id } = cloud.addMachine({
    ...{ cluster: 'blue', name: 'w-1', type: 'worker', offering: 'small' },
    affinityGroups: ['rack-a', 'reserved'],
  })
  return {
    machines: new SimulatedMachines({ url: cloud.url, cluster: 'blue' }),
    id,
    otherOffering: 'large',
    otherGroup: 'rack-b',
    dedicatedGroup: 'reserved',
    cutOff: () => cloud.close(),
    fallSilent: () => cloud.faults.add({ count: null, effect: { kind: 'blackHole' } }),
    close: () => cloud.close(),
  }
}

machinesContract('simulated', underTest)
affinityContract('simulated', underTest)

describe('simulated machines', () => {
  let cloud: SimulatedCloud
  let machines: SimulatedMachines
  let id: string

  beforeEach(async () => {
    cloud = new SimulatedCloud({ affinityGroups: GROUPS })
    await cloud.start()
    id = cloud.addMachine({
      cluster: 'blue',
      name: 'w-1',
      type: 'worker',
      offering: 'small',
      rootDiskGiB: 50,
    }).id
    machines = new SimulatedMachines({ url: cloud.url, cluster: 'blue' })
  })

  afterEach(() => cloud.close())

  it('sees the machines of its own cluster only', async () => {
    const other = cloud.addMachine({ cluster: 'green', name: 'g-1', type: 'worker' })

    const listed = await machines.list(signal())

    expect(listed.map((machine) => machine.name)).toEqual(['w-1'])
    expect(await machines.get(other.id, signal())).toBeNull()
  })

  it('CKS-02 reports an operation on the whole cluster in the cloud’s words', async () => {
    cloud.setClusterOperation('blue', 'scaling to 5 workers')

    expect(await machines.clusterOperation(signal())).toBe('scaling to 5 workers')
  })

  it('CKS-04 says that a fixed disk cannot change size', async () => {
    cloud.machine(id).rootDiskFixed = 'disk offering is strictly fixed'
    const machine = await theMachine(machines, id)

    const reasons = await machines.refusals(
      machine,
      { offering: null, rootDiskGiB: 60, affinityGroups: ['nowhere'] },
      signal(),
    )

    expect(reasons).toEqual([
      expect.stringContaining('disk offering is strictly fixed'),
      expect.stringContaining('nowhere'),
    ])
  })

  it('CKS-26 shows new affinity only after the start that honours it', async () => {
    await ended(machines, await machines.stop(id, signal()))
    await ended(machines, await machines.setAffinityGroups(id, ['rack-b'], signal()))
    expect(cloud.machine(id).placement).toEqual([])

    await ended(machines, await machines.start(id, signal()))

    expect(cloud.machine(id).placement).toEqual(['rack-b'])
  })

  const answers: { effect: FaultEffect; kind: string }[] = [
    { effect: { kind: 'status', status: 400 }, kind: 'refused' },
    { effect: { kind: 'status', status: 403 }, kind: 'refused' },
    { effect: { kind: 'status', status: 409 }, kind: 'refused' },
    { effect: { kind: 'status', status: 409, code: 'OperationInProgress' }, kind: 'conflict' },
    { effect: { kind: 'status', status: 409, code: 'InsufficientCapacity' }, kind: 'capacity' },
    { effect: { kind: 'status', status: 404 }, kind: 'notFound' },
    { effect: { kind: 'status', status: 429 }, kind: 'throttled' },
    { effect: { kind: 'status', status: 500 }, kind: 'unreachable' },
    { effect: { kind: 'status', status: 503 }, kind: 'unreachable' },
    { effect: { kind: 'answerLost' }, kind: 'unreachable' },
  ]
  it.each(answers)('calls $effect $kind', async ({ effect, kind }) => {
    cloud.faults.add({ call: 'stop', count: 1, effect })

    expect(await kindOf(machines.stop(id, signal()))).toBe(kind)
  })

  it('hands on for how long the cloud wants to be left alone', async () => {
    cloud.faults.add({ count: 1, effect: { kind: 'status', status: 429, retryAfterSeconds: 17 } })

    const refusal = await machines.list(signal()).catch((error: unknown) => error)

    expect(refusal).toBeInstanceOf(PortError)
    expect(refusal).toMatchObject({ kind: 'throttled', retryAfterSeconds: 17 })
  })

  it('gives up on a cloud that never answers when the caller does', async () => {
    cloud.faults.add({ call: 'list', count: 1, effect: { kind: 'blackHole' } })
    const caller = new AbortController()
    cloud.onRequest({ call: 'list' }, () => caller.abort(new Error('enough')), 'arrival')

    await expect(machines.list(caller.signal)).rejects.toThrow('enough')
  })

  it('says conflict while another operation is in progress', async () => {
    cloud.faults.add({ call: 'stop', count: 1, effect: { kind: 'operationNeverEnds' } })
    const operation = await machines.stop(id, signal())

    expect(await machines.operation(operation ?? '', signal())).toEqual({ kind: 'running' })
    expect(await theMachine(machines, id)).toMatchObject({
      power: 'stopping',
      operation: `stop (${operation})`,
    })
    expect(await kindOf(machines.start(id, signal()))).toBe('conflict')
  })

  it('reads how an operation ended: capacity, failed with its text, forgotten', async () => {
    await ended(machines, await machines.stop(id, signal()))
    cloud.faults.add({ call: 'start', offering: 'small', count: 1, effect: { kind: 'capacity' } })
    cloud.faults.add({ call: 'start', count: 1, effect: { kind: 'operationFails', message: 'host on fire' } })
    cloud.faults.add({ call: 'start', count: 1, effect: { kind: 'operationForgotten' } })

    expect(await ended(machines, await machines.start(id, signal()))).toMatchObject({ kind: 'capacity' })
    expect(await ended(machines, await machines.start(id, signal()))).toEqual({
      kind: 'failed',
      why: 'host on fire',
    })
    expect((await theMachine(machines, id)).power).toBe('stopped')
    expect(await ended(machines, await machines.start(id, signal()))).toMatchObject({ kind: 'forgotten' })
  })

  it('refuses an answer it does not understand instead of guessing', async () => {
    Object.assign(cloud.machine(id), { rootDiskGiB: 'fifty' })

    expect(await kindOf(machines.list(signal()))).toBe('refused')
  })

  it('takes a power state it has never heard of for unknown', async () => {
    Object.assign(cloud.machine(id), { power: 'hibernating' })

    expect((await theMachine(machines, id)).power).toBe('unknown')
  })

  it.each([
    { options: { url: 'http://127.0.0.1:1', cluster: 'blue' }, ok: true },
    { options: { url: 'ftp://127.0.0.1', cluster: 'blue' }, ok: false },
    { options: { url: 'http://127.0.0.1:1' }, ok: false },
    { options: { url: 'http://127.0.0.1:1', cluster: 'blue', token: 'x' }, ok: false },
  ])('checks the options of a spec: $options is fine: $ok', ({ options, ok }) => {
    expect(simulatedOptions.safeParse(options).success).toBe(ok)
  })
})
