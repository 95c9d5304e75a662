import fc from 'fast-check'
import { type Batch, type BatchNode, type Position, START_POSITION } from '../../src/core/batch.js'
import type { Marks, MaxUnavailable, Member, NodeRecord, PoolSettings } from '../../src/core/model.js'
import { NO_MARKS, nameOf } from '../../src/core/model.js'
import { type NextBatch, nextBatch, type RolloutFacts } from '../../src/core/next-batch.js'
import type { EffectivePool } from '../../src/core/settings.js'
import {
  ACTING,
  aControl,
  aGroup,
  aNode,
  anAttempt,
  anEtcd,
  aPool,
  aWorker,
  FAILURE,
  LARGE,
  QUARANTINE,
  someMarks,
  someSettings,
} from '../support/builders.js'

// ── fleets ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const SETTINGS: fc.Arbitrary<PoolSettings> = fc.constantFrom(
  LARGE,
  LARGE,
  someSettings({ offerings: ['large', 'huge'], rootDiskGiB: 80 }),
  someSettings({ affinityGroups: ['near', 'far'] }),
  someSettings({ rootDiskGiB: 80 }),
  someSettings({}),
)

const MAX_UNAVAILABLE: fc.Arbitrary<MaxUnavailable> = fc.oneof(
  fc.record({ count: fc.integer({ min: 1, max: 80 }) }),
  fc.record({ percent: fc.integer({ min: 1, max: 100 }) }),
)

const MARKS: fc.Arbitrary<Marks> = fc.oneof(
  { weight: 6, arbitrary: fc.constant(NO_MARKS) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom('b1', null), fc.boolean(), fc.boolean(), fc.boolean(), fc.boolean())
      .map(([before, byUs, acting, failed, quarantined]) =>
        someMarks({
          bootId: byUs ? (before ?? 'none') : null,
          attempt: anAttempt({ bootId: before }),
          acting: acting ? ACTING : null,
          failure: failed ? FAILURE : null,
          quarantine: quarantined ? QUARANTINE : null,
        }),
      ),
  },
  { weight: 1, arbitrary: fc.constant(someMarks({ unreadable: ['noderoll.io/attempt'] })) },
)

const NODE: fc.Arbitrary<Partial<NodeRecord>> = fc
  .record({
    marks: MARKS,
    ready: fc.constantFrom('ready', 'ready', 'ready', 'notReady', 'unknown'),
    bootId: fc.constantFrom('b1', 'b1', 'b2', null),
    cordoned: fc.constantFrom(false, false, false, true),
  })
  .map(({ cordoned, ...node }) => ({ ...node, unschedulable: cordoned || node.marks.bootId !== null }))

const MACHINE = fc.record({
  power: fc.constantFrom('running', 'running', 'running', 'running', 'stopped'),
  offering: fc.constantFrom('small', 'small', 'large', 'huge'),
  rootDiskGiB: fc.constantFrom(50, 80, 100, null),
  affinityGroups: fc.constantFrom([], [aGroup('near'), aGroup('far')], [aGroup('host-7', true)]),
})

interface Fleet {
  readonly facts: RolloutFacts
  readonly position: Position
}

function poolOf(name: string, make: typeof aWorker, most: number): fc.Arbitrary<[EffectivePool, Member[]]> {
  return fc
    .tuple(SETTINGS, MAX_UNAVAILABLE, fc.array(fc.tuple(MACHINE, NODE), { maxLength: most }))
    .map(([settings, maxUnavailable, drawn]) => {
      const members = drawn.map(([machine, node], index) =>
        make(`${name}-${index + 1}`, { pool: name, machine, ...(make === anEtcd ? {} : { node }) }),
      )
      const type = make === anEtcd ? 'etcd' : make === aControl ? 'control' : 'worker'
      return [aPool(name, { type, settings, maxUnavailable }), members]
    })
}

/** Fleets with pools of every type, some of them empty, in a spec of any order. */
export const FLEET: fc.Arbitrary<Fleet> = fc
  .tuple(
    fc.oneof(fc.constant(null), poolOf('etcd', anEtcd, 5)),
    poolOf('control', aControl, 5),
    poolOf('blue', aWorker, 12),
    poolOf('green', aWorker, 6),
    poolOf('big', aWorker, 65),
  )
  .chain((pools) => {
    const drawn = pools.filter((pool) => pool !== null)
    const members = drawn.flatMap(([, found]) => found)
    return fc.record({
      pools: fc.shuffledSubarray(
        drawn.map(([pool]) => pool),
        { minLength: drawn.length },
      ),
      members: fc.shuffledSubarray(members, { minLength: members.length }),
      outsiders: fc.constantFrom(
        [],
        [],
        [aNode('o-1', { controlPlane: true }), aNode('o-2', { controlPlane: true })],
      ),
      skippedPools: fc.constantFrom<Record<string, string>[]>(
        {},
        {},
        {},
        { blue: 'stored disk' },
        { control: 'x' },
      ),
      startStopped: fc.boolean(),
      goLast: fc.subarray(members.map(nameOf), { maxLength: Math.min(2, members.length) }),
      left: fc.subarray(members, { maxLength: Math.min(2, members.length) }),
    })
  })
  .map(({ left, ...facts }) => ({
    facts,
    position: {
      ...START_POSITION,
      leave: left.map((member) => ({ name: nameOf(member), pool: member.pool, why: 'an operator said so' })),
    },
  }))

export const RUNS = { numRuns: 200 }

// ── the world ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** What the cluster looks like once a batch has succeeded: K3, CKS-17 and CKS-18, in the words of the requirements. */
function carryOut(facts: RolloutFacts, batch: Batch): RolloutFacts {
  const jobs = new Map(batch.nodes.map((node) => [node.machineId, node]))
  return {
    ...facts,
    members: facts.members.map((member) => {
      const job = jobs.get(member.machine.id)
      return job === undefined ? member : rolled(member, job)
    }),
  }
}

function rolled(member: Member, { wants, how }: BatchNode): Member {
  const { machine, node } = member
  const offering = wants.offerings?.includes(machine.offering) === false ? wants.offerings[0] : null
  const dedicated = machine.affinityGroups.filter((group) => group.explicitDedication)
  return {
    ...member,
    machine: {
      ...machine,
      power: 'running',
      offering: offering ?? machine.offering,
      rootDiskGiB:
        wants.rootDiskGiB !== null && machine.rootDiskGiB !== null && machine.rootDiskGiB < wants.rootDiskGiB
          ? wants.rootDiskGiB
          : machine.rootDiskGiB,
      affinityGroups: wants.affinityGroups?.length
        ? [...dedicated, ...wants.affinityGroups.map((name) => aGroup(name))]
        : machine.affinityGroups,
    },
    node: node && {
      ...node,
      ready: 'ready',
      unschedulable: node.marks.bootId === null && node.unschedulable,
      bootId: how === 'return' ? node.bootId : 'b3',
      marks: NO_MARKS,
    },
  }
}

interface Step {
  readonly facts: RolloutFacts
  readonly batch: Batch
  readonly skipped: ReadonlySet<string>
}

/** Every batch of a rollout in which all succeed, with what was there when it was decided. */
export function rollOut({ facts, position }: Fleet): { steps: Step[]; end: RolloutFacts; last: NextBatch } {
  const steps: Step[] = []
  let now = facts
  for (;;) {
    const next = nextBatch(now, position)
    // One batch more than there are machines: some node was rolled twice.
    if (next.kind !== 'batch' || steps.length > facts.members.length) return { steps, end: now, last: next }
    steps.push({
      facts: now,
      batch: next.batch,
      skipped: new Set(next.view.skipped.map((skip) => skip.name)),
    })
    now = carryOut(now, next.batch)
  }
}

export function memberOf(facts: RolloutFacts, { machineId }: BatchNode): Member | undefined {
  return facts.members.find((member) => member.machine.id === machineId)
}

export function isDown({ machine, node }: Member): boolean {
  return machine.power !== 'running' || node === null || node.ready !== 'ready' || node.unschedulable
}

export function clampOf(facts: RolloutFacts, pool: string): number {
  const workers = facts.members.filter((member) => member.pool === pool).length
  const max = facts.pools.find((one) => one.name === pool)?.maxUnavailable ?? { count: 1 }
  const asked = 'count' in max ? max.count : Math.floor((max.percent / 100) * workers + 1e-9)
  return Math.max(1, Math.min(asked, workers - 1))
}

/** CKS-10 turned round. */
export function isAsWanted(facts: RolloutFacts, { pool, machine }: Member): boolean {
  const { offerings, rootDiskGiB, affinityGroups } =
    facts.pools.find((one) => one.name === pool)?.settings ?? someSettings({})
  // What is started in a pool that is skipped keeps what it has (CKS-04).
  if (pool in facts.skippedPools) return true
  const groups = machine.affinityGroups
    .filter((group) => !group.explicitDedication)
    .map((group) => group.name)
  return (
    (offerings?.includes(machine.offering) ?? true) &&
    (rootDiskGiB === null || machine.rootDiskGiB === null || machine.rootDiskGiB >= rootDiskGiB) &&
    (!affinityGroups?.length || [...affinityGroups].sort().join() === groups.sort().join())
  )
}

/** Position of a batch in the order of CKS-08. */
export function rank(facts: RolloutFacts, batch: Batch): number {
  const types = ['etcd', 'control', 'worker']
  return types.indexOf(batch.type) * 100 + facts.pools.findIndex((pool) => pool.name === batch.pool)
}

export function takesDown({ how }: BatchNode): boolean {
  return how === 'roll'
}

export function isSorted(numbers: readonly number[]): boolean {
  return numbers.every((number, index) => index === 0 || (numbers[index - 1] ?? 0) <= number)
}

/** More than any number in a name. */
export const LATE = 1_000

export const stepsOf = (fleet: Fleet) => rollOut(fleet).steps

/** Holds for every batch of every fleet; fast-check prints seed and fleet of the first for which it does not. */
export function forEveryBatch(check: (step: Step, fleet: Fleet) => void): void {
  fc.assert(
    fc.property(FLEET, (fleet) => {
      for (const step of stepsOf(fleet)) check(step, fleet)
    }),
    RUNS,
  )
}
