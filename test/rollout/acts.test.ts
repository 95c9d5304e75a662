import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { MARK_KEYS } from '../../src/core/marks.js'
import type { FailureMark } from '../../src/core/model.js'
import type { Fault } from '../../src/simulation/faults.js'
import {
  eventsOn,
  expectAsFound,
  found,
  isCordoned,
  isReady,
  nodeWrites,
  untilEvent,
} from '../support/batch-nodes.js'
import { marksOf, RolloutBed } from '../support/rollout-bed.js'

const CHANGE = { offering: 'large', rootDiskGiB: 80, affinityGroups: ['spread-b'] }

describe('acts on machines that go wrong', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
    bed.keepsWorker = true
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  function faults(list: readonly Omit<Fault, 'machine'>[]): void {
    for (const fault of list) bed.cluster.cloud.faults.add({ machine: 'w-1', ...fault })
  }

  /** Always, whatever the size. */
  const NO_ROOM: Omit<Fault, 'machine'> = { call: 'start', effect: { kind: 'capacity' }, count: null }

  async function failureMark(name: string): Promise<FailureMark> {
    const { metadata } = await bed.node(name)
    return JSON.parse(metadata.annotations?.[MARK_KEYS.failure] ?? '{}')
  }

  const refused = { kind: 'status', status: 403, code: 'Forbidden', message: 'missing permission' } as const

  it.each<[string, { faults: Omit<Fault, 'machine'>[]; at: string; type: string; reason: RegExp }]>([
    [
      'there is no room for the new size',
      {
        faults: [{ call: 'start', offering: 'large', effect: { kind: 'capacity' }, count: null }],
        at: 'start',
        type: 'CapacityUnavailable',
        reason: /start of w-1: no room for large here and now/,
      },
    ],
    [
      'the provider will not even set the new size for lack of room',
      {
        faults: [{ call: 'setOffering', offering: 'large', effect: { kind: 'capacity' }, count: null }],
        at: 'start',
        type: 'CapacityUnavailable',
        reason: /offering large of w-1: no room/,
      },
    ],
    [
      'the start is refused',
      {
        faults: [{ call: 'start', effect: refused, count: 1 }],
        at: 'start',
        type: 'MachineFailed',
        reason: /start of w-1: .*403 Forbidden: missing permission/,
      },
    ],
    [
      'the start fails twice',
      {
        faults: [{ call: 'start', effect: { kind: 'operationFails', message: 'host is gone' }, count: 2 }],
        at: 'start',
        type: 'MachineFailed',
        reason: /start of w-1 was accepted 2 times, and machine of w-1 is stopped: host is gone/,
      },
    ],
    [
      'the start is reported done twice without effect',
      {
        faults: [{ call: 'start', effect: { kind: 'noEffect' }, count: 2 }],
        at: 'start',
        type: 'MachineFailed',
        reason: /start of w-1 was accepted 2 times, and machine of w-1 is stopped/,
      },
    ],
    [
      'the new size is refused',
      {
        faults: [{ call: 'setOffering', effect: refused, count: 1 }],
        at: 'resize',
        type: 'MachineFailed',
        reason: /resize of w-1: .*403 Forbidden/,
      },
    ],
    [
      'the disk is refused',
      {
        faults: [{ call: 'growRootDisk', effect: refused, count: null }],
        at: 'resize',
        type: 'MachineFailed',
        reason: /resize of w-1: .*403 Forbidden/,
      },
    ],
    [
      'the disk does not grow',
      {
        faults: [{ call: 'growRootDisk', effect: { kind: 'noEffect' }, count: null }],
        at: 'resize',
        type: 'MachineFailed',
        reason: /root disk 80 GiB of w-1 was accepted 2 times/,
      },
    ],
    [
      'the affinity groups cannot be set',
      {
        faults: [
          {
            call: 'setAffinityGroups',
            effect: { kind: 'operationFails', message: 'group is full' },
            count: 2,
          },
        ],
        at: 'resize',
        type: 'MachineFailed',
        reason: /affinity groups spread-b of w-1 was accepted 2 times, .*: group is full/,
      },
    ],
  ])(
    'K2 starts the machine with what it had and gives the node back when %s; the result is failed',
    async (_situation, { faults: scripted, at, type, reason }) => {
      await bed.startCluster({ workers: 3, machine: { offering: 'small', affinityGroups: ['spread-a'] } })
      const bootBefore = (await bed.node('w-1')).status.nodeInfo.bootID
      faults(scripted)
      const position = await bed.kube.audit.mark()
      await bed.startWorker()

      const end = await bed.roll({ pools: { worker: CHANGE } })

      expect(end).toMatchObject({
        kind: 'failed',
        type,
        result: {
          done: { count: 0 },
          failed: [{ node: 'w-1', step: at, type, reason: expect.stringMatching(reason) }],
          leftCordoned: [],
          state: 'Running',
          lastError: expect.stringContaining('its machine runs with the settings it had'),
        },
      })
      const machine = bed.cluster.cloud.machine('w-1')
      expect(machine).toMatchObject({ power: 'running', offering: 'small', placement: ['spread-a'] })
      const node = await bed.node('w-1')
      expect(isReady(node)).toBe(true)
      expect(node.status.nodeInfo.bootID).not.toBe(bootBefore)
      expect(marksOf(node)).toEqual([])
      expect(isCordoned(node)).toBe(false)
      expect(bed.acts(false).filter((act) => !act.endsWith(' w-1'))).toEqual([])
      for (const other of ['w-2', 'w-3']) expect(await nodeWrites(bed, position, other)).toEqual([])
    },
  )

  it('K2 leaves one failure mark naming step, reason and machine when not even the old size can be started', async () => {
    await bed.startCluster({ workers: 3 })
    faults([NO_ROOM])
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll({ pools: { worker: { offering: 'large' } } })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'CapacityUnavailable',
      message: expect.stringContaining(
        'the node stays cordoned with a failure mark, its machine is stopped, offering small, root disk 50 GiB',
      ),
      result: {
        failed: [{ node: 'w-1', step: 'start' }],
        leftCordoned: [{ name: 'w-1', why: expect.stringMatching(/^failed in start: .*no room for large/) }],
        state: 'Alert',
      },
    })
    expect(await failureMark('w-1')).toEqual({
      step: 'start',
      reason:
        'start of w-1: no room for large here and now; back to small: start of w-1: no room for small here and now',
      machine: 'stopped, offering small, root disk 50 GiB',
      at: expect.any(String),
      rollout: expect.stringContaining('/cluster-rollout/prod/'),
    })
    expect(isCordoned(await bed.node('w-1'))).toBe(true)
    await untilEvent(bed, 'w-1', 'NoderollFailed')
    expect((await eventsOn(bed, 'w-1')).filter((reason) => reason === 'NoderollFailed')).toHaveLength(1)
    for (const other of ['w-2', 'w-3']) expect(await nodeWrites(bed, position, other)).toEqual([])
    expect(await bed.leaseHolder()).toBeNull()
  })

  it('K2 leaves a failure mark when the machine runs with what it had, and its node is not back', async () => {
    await bed.startCluster({ workers: 2 })
    faults([{ call: 'start', offering: 'large', effect: { kind: 'capacity' }, count: null }])
    bed.cluster.kubelets.script('w-1', { notReadyMs: 60_000 })
    await bed.startWorker()

    const end = await bed.roll({
      pools: { worker: { offering: 'large' } },
      verify: { timeout: '2s', settle: 0 },
    })

    expect(end).toMatchObject({ kind: 'failed', type: 'CapacityUnavailable', result: { state: 'Alert' } })
    expect(await failureMark('w-1')).toMatchObject({
      step: 'start',
      reason: expect.stringMatching(
        /no room for large here and now; started again with what it had, w-1 is not back after 2 s: .*not ready/,
      ),
      machine: 'running, offering small, root disk 50 GiB',
    })
    expect(isCordoned(await bed.node('w-1'))).toBe(true)
  })

  it.each([
    ['stop', /^stopping, offering small, .*stop \(op-\d+\) in progress$/],
    ['start', /^starting, offering large, .*start \(op-\d+\) in progress$/],
  ] as const)(
    'K2 says what it waited for when a %s never ends, and does nothing more',
    async (call, said) => {
      await bed.startCluster({ workers: 2 })
      faults([{ call, effect: { kind: 'operationNeverEnds' }, count: 1 }])
      await bed.startWorker()

      const end = await bed.roll({ pools: { worker: { offering: 'large' } }, machineTimeout: '4s' })

      expect(end).toMatchObject({
        kind: 'failed',
        type: 'OutcomeUnknown',
        result: {
          failed: [
            {
              node: 'w-1',
              step: call,
              reason: expect.stringContaining(`${call} of w-1 is under way at the provider`),
            },
          ],
          state: 'Alert',
        },
      })
      expect(await failureMark('w-1')).toMatchObject({ step: call, machine: expect.stringMatching(said) })
      expect(bed.acts(false).filter((act) => act === `${call} w-1`)).toHaveLength(1)
      expect(isCordoned(await bed.node('w-1'))).toBe(true)
    },
  )

  it('K2 leaves a failure mark when a stop is accepted twice and comes to nothing', async () => {
    await bed.startCluster({ workers: 2 })
    faults([
      { call: 'stop', effect: { kind: 'operationFails', message: 'guest does not react' }, count: null },
    ])
    await bed.startWorker()

    const end = await bed.roll({ pools: { worker: { offering: 'large' } } })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'MachineFailed',
      message: expect.stringContaining('guest does not react'),
    })
    expect(bed.acts(false)).toEqual(['stop w-1', 'stop w-1'])
    expect(await failureMark('w-1')).toMatchObject({
      step: 'stop',
      machine: 'running, offering small, root disk 50 GiB',
    })
    expect(isCordoned(await bed.node('w-1'))).toBe(true)
  })

  it('K1 puts the node back when its stop is refused: nothing has happened to it', async () => {
    await bed.startCluster({ workers: 2 })
    const before = await found(bed)
    faults([{ call: 'stop', effect: refused, count: null }])
    await bed.startWorker()

    const end = await bed.roll({ pools: { worker: { offering: 'large' } } })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'MachineFailed',
      message: expect.stringMatching(/stop of w-1: .*403 Forbidden: missing permission.*put back as found/),
      result: { failed: [{ node: 'w-1', step: 'stop' }], leftCordoned: [], state: 'Running' },
    })
    expect(bed.acts(false)).toEqual(['stop w-1'])
    await expectAsFound(bed, before)
  })

  it('K2, K3 finishes the other nodes of a batch when one fails, and begins no further one', async () => {
    await bed.startCluster({ workers: 4 })
    faults([NO_ROOM])
    bed.cluster.cloud.state.delays.startMs = 300
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll({ pools: { worker: { offering: 'large', maxUnavailable: 2 } } })

    expect(end).toMatchObject({
      kind: 'failed',
      result: { done: { names: ['w-2'] }, failed: [{ node: 'w-1' }], state: 'Alert' },
    })
    expect(bed.cluster.cloud.machine('w-2')).toMatchObject({ power: 'running', offering: 'large' })
    expect(marksOf(await bed.node('w-2'))).toEqual([])
    expect(isCordoned(await bed.node('w-2'))).toBe(false)
    expect(isCordoned(await bed.node('w-1'))).toBe(true)
    for (const other of ['w-3', 'w-4']) expect(await nodeWrites(bed, position, other)).toEqual([])
  })

  it('K2 tells what became of an etcd machine, which has no Node to mark', async () => {
    await bed.startCluster({ etcd: 3, workers: 0, control: 1 })
    // e-1 leads and goes last.
    bed.cluster.cloud.faults.add({ ...NO_ROOM, machine: 'e-2' })
    await bed.startWorker()

    const end = await bed.roll({
      pools: { etcd: { select: { machines: ['e-1', 'e-2', 'e-3'] }, offering: 'large' }, control: {} },
    })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'CapacityUnavailable',
      message: expect.stringContaining('its machine is stopped, offering small, root disk 50 GiB'),
      result: { failed: [{ node: 'e-2', step: 'start' }], state: 'Alert' },
    })
    expect(bed.acts(false).filter((act) => !act.endsWith(' e-2'))).toEqual([])
  })
})
