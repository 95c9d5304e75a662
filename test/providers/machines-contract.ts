import { describe, expect, it } from 'vitest'
import type { Machine } from '../../src/core/model.js'
import { PortError, type PortErrorKind } from '../../src/ports/errors.js'
import type { Machines, Operation, OperationState } from '../../src/ports/machines.js'
import { whileCollecting } from '../support/garbage.js'
import { waitUntil } from '../support/wait.js'

/** A provider in front of a real or stand-in cloud that holds one running machine, and what can be asked of it. */
export interface MachinesUnderTest {
  readonly machines: Machines
  /** Id of a running machine with no operation in progress, whose disk can grow. */
  readonly id: string
  /** An offering it does not have. */
  readonly otherOffering: string
  /** Cuts the provider off from its cloud: every request from now on gets no answer. */
  cutOff(): Promise<void>
  /** From now on the cloud takes every request and answers none. */
  fallSilent(): void
  close(): Promise<void>
}

export interface GroupedMachinesUnderTest extends MachinesUnderTest {
  /** An affinity group the machine is not in. */
  readonly otherGroup: string
  /** A group of explicit dedication that the machine is in. */
  readonly dedicatedGroup: string
}

/** What every provider must do. The factory gives a fresh cloud for each test. */
export function machinesContract(name: string, create: () => Promise<MachinesUnderTest>): void {
  const using = (test: (under: MachinesUnderTest) => Promise<void>) => usingOne(create, test)

  describe(`machines contract: ${name}`, () => {
    it('lists every machine just as it gives it one by one', () =>
      using(async ({ machines, id }) => {
        const listed = await machines.list(signal())

        const found = listed.find((machine) => machine.id === id)
        expect(found).toEqual(await machines.get(id, signal()))
        expect(found).toMatchObject({ power: 'running', operation: null })
        expect(found?.cpu).toBeGreaterThan(0)
        expect(found?.memoryMiB).toBeGreaterThan(0)
      }))

    it('says null for a machine that does not exist', () =>
      using(async ({ machines }) => {
        expect(await machines.get('no-such-machine', signal())).toBeNull()
      }))

    it('CKS-17 stops, sets the offering, grows the disk and starts, and the machine shows each', () =>
      using(async ({ machines, id, otherOffering }) => {
        const before = await theMachine(machines, id)
        const sizeGiB = (before.rootDiskGiB ?? 0) + 10

        await ended(machines, await machines.stop(id, signal()))
        expect((await theMachine(machines, id)).power).toBe('stopped')
        await ended(machines, await machines.setOffering(id, otherOffering, signal()))
        await ended(machines, await machines.growRootDisk(id, sizeGiB, signal()))
        await ended(machines, await machines.start(id, signal()))

        const size = (await machines.offerings(signal())).find((one) => one.name === otherOffering)
        expect(await theMachine(machines, id)).toEqual({
          ...before,
          offering: otherOffering,
          rootDiskGiB: sizeGiB,
          cpu: size?.cpu,
          memoryMiB: size?.memoryMiB,
        })
      }))

    it('is done at once when there is nothing to do: stopped twice, started twice', () =>
      using(async ({ machines, id }) => {
        expect(await ended(machines, await machines.start(id, signal()))).toEqual({ kind: 'done' })
        expect((await theMachine(machines, id)).power).toBe('running')

        await ended(machines, await machines.stop(id, signal()))
        expect(await ended(machines, await machines.stop(id, signal()))).toEqual({ kind: 'done' })
        expect((await theMachine(machines, id)).power).toBe('stopped')
      }))

    it('CKS-17 refuses to change a running machine, and changes nothing', () =>
      using(async ({ machines, id, otherOffering }) => {
        const before = await theMachine(machines, id)

        expect(await kindOf(machines.setOffering(id, otherOffering, signal()))).toBe('refused')
        expect(await kindOf(machines.growRootDisk(id, (before.rootDiskGiB ?? 0) + 10, signal()))).toBe(
          'refused',
        )

        expect(await theMachine(machines, id)).toEqual(before)
      }))

    it('refuses an unknown offering when asked to set it', () =>
      using(async ({ machines, id }) => {
        await ended(machines, await machines.stop(id, signal()))

        expect(await kindOf(machines.setOffering(id, 'no-such-offering', signal()))).toBe('refused')
      }))

    it('says notFound for an act on a machine that does not exist', () =>
      using(async ({ machines }) => {
        expect(await kindOf(machines.stop('no-such-machine', signal()))).toBe('notFound')
      }))

    it('says forgotten for an operation nobody knows', () =>
      using(async ({ machines }) => {
        expect(await machines.operation('no-such-operation', signal())).toMatchObject({ kind: 'forgotten' })
      }))

    it('CKS-04 gives every reason against unfit settings, and none against fit ones', () =>
      using(async ({ machines, id, otherOffering }) => {
        const machine = await theMachine(machines, id)
        const size = machine.rootDiskGiB ?? 0
        const fit = { offering: otherOffering, rootDiskGiB: size + 1, affinityGroups: null }
        const unfit = { offering: 'no-such-offering', rootDiskGiB: size - 1, affinityGroups: null }

        expect(await machines.refusals(machine, fit, signal())).toEqual([])
        expect(await machines.refusals(machine, unfit, signal())).toEqual([
          expect.stringContaining('no-such-offering'),
          expect.stringContaining('shrink'),
        ])
      }))

    it('CKS-02 reports no operation on a cluster at rest', () =>
      using(async ({ machines }) => {
        expect(await machines.clusterOperation(signal())).toBeNull()
      }))

    it('throws the caller’s reason, not an error of the cloud, when the caller gives up', () =>
      using(async ({ machines, id }) => {
        const reason = new Error('no longer wanted')

        await expect(machines.get(id, AbortSignal.abort(reason))).rejects.toBe(reason)
      }))

    it('says unreachable when the cloud is cut off', () =>
      using(async ({ machines, id, cutOff }) => {
        await cutOff()

        expect(await kindOf(machines.list(signal()))).toBe('unreachable')
        expect(await kindOf(machines.get(id, signal()))).toBe('unreachable')
        expect(await kindOf(machines.stop(id, signal()))).toBe('unreachable')
      }))

    it(
      'says unreachable when the cloud takes the question and does not answer, and does so in time',
      () =>
        using(async ({ machines, id, fallSilent }) => {
          fallSilent()
          const caller = new AbortController()
          const began = performance.now()

          const kinds = await whileCollecting(
            Promise.all([
              kindOf(machines.list(caller.signal)),
              kindOf(machines.get(id, caller.signal)),
              kindOf(machines.stop(id, caller.signal)),
            ]),
          )

          expect(kinds).toEqual(['unreachable', 'unreachable', 'unreachable'])
          expect(performance.now() - began).toBeLessThan(20_000)
        }),
      40_000,
    )
  })
}

/** What a provider that knows affinity groups must do besides. */
export function affinityContract(name: string, create: () => Promise<GroupedMachinesUnderTest>): void {
  const using = (test: (under: GroupedMachinesUnderTest) => Promise<void>) => usingOne(create, test)

  describe(`affinity contract: ${name}`, () => {
    it('CKS-05 keeps a dedication group when other groups are set', () =>
      using(async ({ machines, id, dedicatedGroup, otherGroup }) => {
        await ended(machines, await machines.stop(id, signal()))
        await ended(machines, await machines.setAffinityGroups(id, [otherGroup], signal()))

        const { affinityGroups } = await theMachine(machines, id)
        expect(
          Object.fromEntries(affinityGroups.map((group) => [group.name, group.explicitDedication])),
        ).toEqual({
          [dedicatedGroup]: true,
          [otherGroup]: false,
        })
      }))

    it('CKS-05 refuses a dedication group as a setting, and names it', () =>
      using(async ({ machines, id, dedicatedGroup, otherGroup }) => {
        const machine = await theMachine(machines, id)
        const wants = { offering: null, rootDiskGiB: null, affinityGroups: [otherGroup, dedicatedGroup] }

        expect(await machines.refusals(machine, wants, signal())).toEqual([
          expect.stringContaining(dedicatedGroup),
        ])
      }))

    it('refuses a group that does not exist, and names it', () =>
      using(async ({ machines, id }) => {
        const machine = await theMachine(machines, id)
        const wants = { offering: null, rootDiskGiB: null, affinityGroups: ['no-such-group'] }

        expect(await machines.refusals(machine, wants, signal())).toEqual([
          expect.stringContaining('no-such-group'),
        ])
      }))

    it('CKS-17 refuses to move a running machine to other groups', () =>
      using(async ({ machines, id, otherGroup }) => {
        expect(await kindOf(machines.setAffinityGroups(id, [otherGroup], signal()))).toBe('refused')
      }))
  })
}

async function usingOne<T extends MachinesUnderTest>(
  create: () => Promise<T>,
  test: (under: T) => Promise<void>,
): Promise<void> {
  const under = await create()
  try {
    await test(under)
  } finally {
    await under.close()
  }
}

/** The kind of `PortError` that a call fails with. */
export async function kindOf(call: Promise<unknown>): Promise<PortErrorKind> {
  try {
    await call
  } catch (error) {
    if (error instanceof PortError) return error.kind
    throw error
  }
  throw new Error('the call was not refused')
}

/** Follows an accepted operation until it has ended. */
export async function ended(machines: Machines, operation: Operation): Promise<OperationState> {
  if (operation === null) return { kind: 'done' }
  return await waitUntil(
    async () => {
      const state = await machines.operation(operation, signal())
      return state.kind === 'running' ? null : state
    },
    { for: `operation ${operation} to end`, everyMs: 5 },
  )
}

export async function theMachine(machines: Machines, id: string): Promise<Machine> {
  const machine = await machines.get(id, signal())
  if (machine === null) throw new Error(`machine ${id} does not exist`)
  return machine
}

export function signal(): AbortSignal {
  return AbortSignal.timeout(30_000)
}
