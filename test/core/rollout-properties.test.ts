import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { batchNodeName } from '../../src/core/batch.js'
import type { Member } from '../../src/core/model.js'
import { isMarked, NO_MARKS, nameOf } from '../../src/core/model.js'
import { nextBatch, type RolloutFacts } from '../../src/core/next-batch.js'
import { afterBatch, planRollout } from '../../src/core/plan.js'
import {
  clampOf,
  FLEET,
  forEveryBatch,
  isAsWanted,
  isDown,
  isSorted,
  LATE,
  memberOf,
  RUNS,
  rank,
  rollOut,
  stepsOf,
  takesDown,
} from './rollout-fleets.js'

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
