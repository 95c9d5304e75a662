import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Batch,
  type BatchNode,
  batchNodeName,
  type Position,
  START_POSITION,
} from '../../src/core/batch.js'
import type { Marks, MaxUnavailable, Member, NodeRecord, PoolSettings } from '../../src/core/model.js'
import { isMarked, NO_MARKS, nameOf } from '../../src/core/model.js'
import { type NextBatch, nextBatch, type RolloutFacts } from '../../src/core/next-batch.js'
import { afterBatch, planRollout } from '../../src/core/plan.js'
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
const FLEET: fc.Arbitrary<Fleet> = fc
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

const RUNS = { numRuns: 200 }

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
function rollOut({ facts, position }: Fleet): { steps: Step[]; end: RolloutFacts; last: NextBatch } {
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

function memberOf(facts: RolloutFacts, { machineId }: BatchNode): Member | undefined {
  return facts.members.find((member) => member.machine.id === machineId)
}

function isDown({ machine, node }: Member): boolean {
  return machine.power !== 'running' || node === null || node.ready !== 'ready' || node.unschedulable
}

function clampOf(facts: RolloutFacts, pool: string): number {
  const workers = facts.members.filter((member) => member.pool === pool).length
  const max = facts.pools.find((one) => one.name === pool)?.maxUnavailable ?? { count: 1 }
  const asked = 'count' in max ? max.count : Math.floor((max.percent / 100) * workers + 1e-9)
  return Math.max(1, Math.min(asked, workers - 1))
}

/** CKS-10 turned round. */
function isAsWanted(facts: RolloutFacts, { pool, machine }: Member): boolean {
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
function rank(facts: RolloutFacts, batch: Batch): number {
  const types = ['etcd', 'control', 'worker']
  return types.indexOf(batch.type) * 100 + facts.pools.findIndex((pool) => pool.name === batch.pool)
}

function takesDown({ how }: BatchNode): boolean {
  return how === 'roll'
}

function isSorted(numbers: readonly number[]): boolean {
  return numbers.every((number, index) => index === 0 || (numbers[index - 1] ?? 0) <= number)
}

/** More than any number in a name. */
const LATE = 1_000

const stepsOf = (fleet: Fleet) => rollOut(fleet).steps

/** Holds for every batch of every fleet; fast-check prints seed and fleet of the first for which it does not. */
function forEveryBatch(check: (step: Step, fleet: Fleet) => void): void {
  fc.assert(
    fc.property(FLEET, (fleet) => {
      for (const step of stepsOf(fleet)) check(step, fleet)
    }),
    RUNS,
  )
}

// ── properties ──────────────────────────────────────────────────────────────────────────────────────────────────────

describe('any fleet, any batch', () => {
  it('CKS-08, CKS-11 among the fleets are all kinds of batches: etcd, control, workers; rolled, started, given back', () => {
    const kinds = fc
      .sample(FLEET, { numRuns: 200, seed: 1 })
      .flatMap(stepsOf)
      .flatMap(({ batch }) =>
        batch.nodes.map((node) => `${batch.recovery ? 'recovery ' : ''}${batch.type} ${node.how}`),
      )

    expect([...new Set(kinds)].sort()).toEqual([
      'control roll',
      'etcd roll',
      'recovery control return',
      'recovery control roll',
      'recovery control start',
      'recovery etcd start',
      'recovery worker return',
      'recovery worker roll',
      'recovery worker start',
      'worker roll',
    ])
  })

  it('CKS-09 with the batch down, no pool has more unavailable than the clamp, except that one may always go', () => {
    forEveryBatch(({ facts, batch }) => {
      const down = batch.nodes.filter(takesDown).map((node) => node.machineId)
      const pool = facts.members.filter((member) => member.pool === batch.pool)
      const unavailable = pool.filter((member) => isDown(member) || down.includes(member.machine.id))
      expect(down.length <= 1 || unavailable.length <= clampOf(facts, batch.pool)).toBe(true)
    })
  })

  it('CKS-08, CKS-09 one pool a batch, 1 to 50 nodes, one of them where it is control or etcd', () => {
    forEveryBatch(({ facts, batch }) => {
      const pools = batch.nodes.map((node) => memberOf(facts, node)?.pool)
      expect(new Set([...pools, batch.pool]).size).toBe(1)
      expect(batch.nodes.length).toBeGreaterThanOrEqual(1)
      expect(batch.nodes.length).toBeLessThanOrEqual(batch.type === 'worker' ? 50 : 1)
    })
  })

  it('CKS-11 nothing that runs is taken down while a stopped or marked member is neither back nor skipped', () => {
    forEveryBatch(({ facts, batch, skipped }) => {
      if (!batch.nodes.some(takesDown)) return
      const waiting = facts.members.filter((member) => !skipped.has(nameOf(member)))
      const off = waiting.filter((member) => member.machine.power === 'stopped')
      const marked = waiting.filter((member) => member.node !== null && isMarked(member.node.marks))
      expect(off.map(nameOf)).toEqual([])
      expect(batch.recovery || marked.length === 0).toBe(true)
    })
  })

  it('CKS-11, CKS-22 a running machine is stopped, a stopped one started, and only marked nodes are given back', () => {
    forEveryBatch(({ facts, batch }) => {
      for (const node of batch.nodes) {
        const member = memberOf(facts, node)
        const marked = member?.node != null && isMarked(member.node.marks)
        expect(node.how === 'start' ? 'stopped' : 'running').toBe(member?.machine.power)
        expect(node.how !== 'return' || marked).toBe(true)
        expect(batch.recovery).toBe(node.how !== 'roll' || marked)
      }
    })
  })

  it('CKS-00, CKS-25 names members of pools only, and nobody who is skipped', () => {
    forEveryBatch(({ facts, batch, skipped }, { position }) => {
      for (const node of batch.nodes) {
        const member = memberOf(facts, node)
        expect(member && nameOf(member)).toBe(batchNodeName(node))
        expect(facts.pools.map((pool) => pool.name)).toContain(node.pool)
        expect([...skipped, ...position.leave.map((skip) => skip.name)]).not.toContain(batchNodeName(node))
      }
    })
  })

  it('CKS-04, CKS-11, CKS-14 takes nobody down that has to stay, starts nobody that is to stay off', () => {
    forEveryBatch(({ facts, batch }) => {
      const counts = (type: string) => facts.members.filter((member) => member.type === type).length
      const external = counts('etcd') > 0
      const controls = counts('control') + facts.outsiders.length
      const few = { etcd: counts('etcd') < 3, control: controls < (external ? 2 : 3), worker: false }[
        batch.type
      ]
      for (const node of batch.nodes) {
        const marks = memberOf(facts, node)?.node?.marks ?? NO_MARKS
        expect(takesDown(node) && (few || batch.pool in facts.skippedPools)).toBe(false)
        expect(node.how === 'start' && !facts.startStopped && !isMarked(marks)).toBe(false)
        expect(isMarked(marks) && marks.unreadable.length > 0).toBe(false)
      }
    })
  })
})

describe('any fleet, the whole rollout', () => {
  it('CKS-22, CKS-24 ends, no node goes twice, and everybody who is not skipped is as wanted, running and unmarked', () => {
    fc.assert(
      fc.property(FLEET, (fleet) => {
        const { steps, end, last } = rollOut(fleet)
        const names = steps.flatMap((step) => step.batch.nodes.map(batchNodeName))
        const skipped = new Set(last.view.skipped.map((skip) => skip.name))
        const unfinished = end.members.filter(
          (member) =>
            !skipped.has(nameOf(member)) &&
            (member.machine.power !== 'running' ||
              (member.node !== null && isMarked(member.node.marks)) ||
              !isAsWanted(end, member)),
        )
        expect(last.kind).toBe('done')
        expect(new Set(names).size).toBe(names.length)
        expect(unfinished.map(nameOf)).toEqual([])
      }),
      RUNS,
    )
  })

  it('CKS-08 etcd, control, then workers pool by pool: among those to be started, those in recovery, and all others', () => {
    fc.assert(
      fc.property(FLEET, (fleet) => {
        const steps = stepsOf(fleet)
        const stages = steps.map(({ batch }) => (batch.recovery ? (batch.nodes.some(takesDown) ? 1 : 0) : 2))
        expect(isSorted(stages)).toBe(true)
        for (const stage of [0, 1, 2]) {
          const ranks = steps
            .filter((_, index) => stages[index] === stage)
            .map(({ facts, batch }) => rank(facts, batch))
          expect(isSorted(ranks)).toBe(true)
        }
      }),
      RUNS,
    )
  })

  it('CKS-08 inside a pool nodes go in the order people count, those that go last after all others', () => {
    fc.assert(
      fc.property(FLEET, (fleet) => {
        const ordinary = stepsOf(fleet).filter(({ batch }) => !batch.recovery)
        for (const pool of fleet.facts.pools) {
          const numbers = ordinary
            .filter(({ batch }) => batch.pool === pool.name)
            .flatMap(({ batch }) => batch.nodes)
            .map((node) => {
              const last = fleet.facts.goLast.includes(batchNodeName(node))
              return Number(node.machineName.split('-')[1]) + (last ? LATE : 0)
            })
          expect(isSorted(numbers)).toBe(true)
        }
      }),
      RUNS,
    )
  })

  it('CKS-22 the plan is what happens when every batch succeeds', () => {
    fc.assert(
      fc.property(FLEET, (fleet) => {
        const happens = stepsOf(fleet).map(({ batch }) => batch)
        expect(planRollout(fleet.facts, fleet.position).batches).toEqual(happens)
      }),
      RUNS,
    )
  })

  it('CKS-22 resume is a fixpoint: asked again after any of the batches, in any order of listing, the rest is the rest', () => {
    const asked = FLEET.chain(({ facts, position }) => {
      const { batches } = planRollout(facts, position)
      return fc.record({
        facts: fc.constant(facts),
        position: fc.constant(position),
        done: fc.integer({ min: 0, max: batches.length }),
        members: fc.shuffledSubarray([...facts.members], { minLength: facts.members.length }),
      })
    })
    fc.assert(
      fc.property(asked, ({ facts, position, done, members }) => {
        const { batches, skipped } = planRollout(facts, position)
        const then = batches.slice(0, done).reduce(afterBatch, { ...facts, members })
        // As an activity would read it: nothing but data travels.
        const read: RolloutFacts = JSON.parse(JSON.stringify(then))

        const again = planRollout(read, position)

        expect(again.batches).toEqual(batches.slice(done))
        expect(again.skipped).toEqual(skipped)
      }),
      RUNS,
    )
  })

  it('CKS-11 nothing is decided while a machine that is not skipped is on its way somewhere', () => {
    const onItsWay = fc.constantFrom(
      { power: 'starting' as const },
      { power: 'stopping' as const },
      { power: 'unknown' as const },
      { operation: 'resize' },
    )
    fc.assert(
      fc.property(
        FLEET.filter(({ facts }) => facts.members.length > 0),
        onItsWay,
        fc.nat(),
        ({ facts, position }, change, index) => {
          const members = facts.members.map((member, at) =>
            at === index % facts.members.length
              ? { ...member, machine: { ...member.machine, ...change } }
              : member,
          )
          const moving = members[index % members.length] as Member
          const next = nextBatch({ ...facts, members }, position)
          const skipped = next.view.skipped.map((skip) => skip.name)
          expect(next.kind === 'wait').toBe(!skipped.includes(nameOf(moving)))
        },
      ),
      RUNS,
    )
  })
})
