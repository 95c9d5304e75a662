import { describe, expect, it } from 'vitest'
import { batchNodeName, START_POSITION } from '../../src/core/batch.js'
import type { Member } from '../../src/core/model.js'
import { afterBatch, type Plan, planRollout } from '../../src/core/plan.js'
import {
  aBatch,
  aControl,
  aGroup,
  anEtcd,
  aPool,
  aWorker,
  CORDONED_BY_US,
  LARGE,
  namesOf,
  several,
  someFacts,
  someSettings,
} from '../support/builders.js'

const stopped = { machine: { power: 'stopped' as const } }

function batchesOf(plan: Plan): string[][] {
  return plan.batches.map((batch) => batch.nodes.map((node) => `${batchNodeName(node)} ${node.how}`))
}

describe('the plan of a rollout', () => {
  it('CKS-08, CKS-11 recovery, etcd, control, then each worker pool', () => {
    const members = [
      ...several(3, aWorker, 'a', { pool: 'a' }),
      ...several(3, aWorker, 'b', { pool: 'b' }),
      aWorker('b-4', { pool: 'b', ...stopped }),
      ...several(3, aControl, 'cp'),
      ...several(3, anEtcd, 'e'),
    ]
    const pools = [
      aPool('b', { settings: LARGE, maxUnavailable: { count: 2 } }),
      aPool('a', { settings: LARGE }),
      aPool('control', { settings: LARGE }),
      aPool('etcd', { settings: LARGE }),
    ]

    expect(batchesOf(planRollout(someFacts(members, { pools }), START_POSITION))).toEqual([
      ['b-4 start'],
      ['e-1 roll'],
      ['e-2 roll'],
      ['e-3 roll'],
      ['cp-1 roll'],
      ['cp-2 roll'],
      ['cp-3 roll'],
      ['b-1 roll', 'b-2 roll'],
      ['b-3 roll'],
      ['a-1 roll'],
      ['a-2 roll'],
      ['a-3 roll'],
    ])
  })

  it('CKS-22 nothing to do is an empty plan', () => {
    const plan = planRollout(someFacts([aWorker('w-1', { machine: { offering: 'large' } })]), START_POSITION)

    expect(plan).toEqual({ batches: [], skipped: [], notes: [], waitsFor: [] })
  })

  it('CKS-09, CKS-14 says clamps, and who is skipped and why', () => {
    const members = [aControl('cp-1'), ...several(3, aWorker, 'w')]
    const pools = [
      aPool('control', { settings: LARGE }),
      aPool('worker', { settings: LARGE, maxUnavailable: { count: 5 } }),
    ]

    const plan = planRollout(someFacts(members, { pools }), START_POSITION)

    expect(plan.notes).toEqual(['pool worker: maxUnavailable 5 becomes 2 of 3 workers'])
    expect(plan.skipped.map((skip) => skip.name)).toEqual(['cp-1'])
    expect(batchesOf(plan)).toEqual([['w-1 roll', 'w-2 roll'], ['w-3 roll']])
  })

  it('CKS-11 a machine on its way is named, and the rest is planned as if it had arrived', () => {
    const members = [aWorker('w-1'), aWorker('w-2', { machine: { power: 'starting', offering: 'large' } })]

    const plan = planRollout(someFacts(members), START_POSITION)

    expect(plan.waitsFor).toEqual(['w-2 is starting'])
    expect(plan.batches.flatMap((batch) => batch.nodes.map(batchNodeName))).toContain('w-1')
  })

  it('CKS-09 what an operator changed and skipped in a running rollout is in its plan', () => {
    const position = {
      leave: [{ name: 'w-2', pool: 'worker', why: 'an operator said so' }],
      maxUnavailable: { worker: { count: 2 } },
    }

    const plan = planRollout(someFacts(several(4, aWorker, 'w')), position)

    expect(batchesOf(plan)).toEqual([['w-1 roll', 'w-3 roll'], ['w-4 roll']])
    expect(plan.skipped).toEqual(position.leave)
  })

  it('CKS-09 as many batches as asked for, at the most', () => {
    const plan = planRollout(someFacts(several(9, aWorker, 'w')), START_POSITION, 3)

    expect(batchesOf(plan)).toEqual([['w-1 roll'], ['w-2 roll'], ['w-3 roll']])
  })

  it('CKS-10 a group that the settings name twice is had once, and the node goes once', () => {
    const pools = [aPool('worker', { settings: someSettings({ affinityGroups: ['near', 'near'] }) })]

    const plan = planRollout(someFacts([aWorker('w-1')], { pools }), START_POSITION, 5)

    expect(batchesOf(plan)).toEqual([['w-1 roll']])
  })
})

describe('the facts after a batch that succeeded', () => {
  function afterwards(member: Member, settings = LARGE): Member | undefined {
    const facts = someFacts([member], { pools: [aPool(member.pool, { type: member.type, settings })] })
    const [batch] = planRollout(facts, START_POSITION).batches
    return batch && afterBatch(facts, batch).members[0]
  }

  it('CKS-17 the machine has the settings, the first offering of a list, and runs', () => {
    const settings = { offerings: ['large', 'huge'], rootDiskGiB: 80, affinityGroups: ['near'] }
    const member = aWorker('w-1', { machine: { power: 'stopped', affinityGroups: [aGroup('far')] } })

    expect(afterwards(member, settings)?.machine).toEqual({
      ...member.machine,
      power: 'running',
      offering: 'large',
      rootDiskGiB: 80,
      affinityGroups: [aGroup('near')],
    })
  })

  it.each<[string, Member, Parameters<typeof someSettings>[0], Partial<Member['machine']>]>([
    [
      'CKS-01 an offering of the list is kept',
      aWorker('w-1', stopped),
      { offerings: ['large', 'small'] },
      { offering: 'small' },
    ],
    [
      'CKS-17 a larger disk is never shrunk',
      aWorker('w-1', stopped),
      { rootDiskGiB: 40 },
      { rootDiskGiB: 50 },
    ],
    [
      'CKS-05 explicit dedication stays on the machine',
      aWorker('w-1', { machine: { affinityGroups: [aGroup('host-7', true), aGroup('far')] } }),
      { affinityGroups: ['near'] },
      { affinityGroups: [aGroup('host-7', true), aGroup('near')] },
    ],
    [
      'CKS-05 without recorded groups the machine keeps its own',
      aWorker('w-1', { machine: { power: 'stopped', affinityGroups: [aGroup('far')] } }),
      { affinityGroups: [] },
      { affinityGroups: [aGroup('far')] },
    ],
  ])('%s', (_, member, settings, expected) => {
    expect(afterwards(member, someSettings(settings))?.machine).toMatchObject(expected)
  })

  it.each<[string, Member, boolean]>([
    [
      'K3 a node that we cordoned takes pods again',
      aWorker('w-1', { node: { unschedulable: true, ready: 'notReady', marks: CORDONED_BY_US } }),
      false,
    ],
    [
      'B14 a node that somebody else cordoned stays cordoned',
      aWorker('w-1', { node: { unschedulable: true } }),
      true,
    ],
  ])('%s, is ready and carries no mark', (_, member, unschedulable) => {
    expect(afterwards(member)?.node).toMatchObject({
      ready: 'ready',
      unschedulable,
      marks: { bootId: null, attempt: null, acting: null, failure: null },
    })
  })

  it('CKS-09 a machine that was started is available, though its Node had been deleted while it was off', () => {
    const members = [...several(4, aWorker, 'w'), aWorker('w-5', { ...stopped, node: null })]
    const pools = [aPool('worker', { settings: LARGE, maxUnavailable: { count: 2 } })]

    expect(batchesOf(planRollout(someFacts(members, { pools }), START_POSITION))).toEqual([
      ['w-5 start'],
      ['w-1 roll', 'w-2 roll'],
      ['w-3 roll', 'w-4 roll'],
      // Which pool it is of was certain only when it had joined again.
      ['w-5 roll'],
    ])
  })

  it('CKS-22 the others are as they were', () => {
    const [first, ...others] = several(3, aWorker, 'w') as [Member, ...Member[]]
    const facts = someFacts([first, ...others])

    const { members, ...rest } = afterBatch(facts, aBatch([first]))

    expect(namesOf(members)).toEqual(['w-1', 'w-2', 'w-3'])
    expect(members.slice(1)).toEqual(others)
    expect({ members: facts.members, ...rest }).toEqual(facts)
  })
})
