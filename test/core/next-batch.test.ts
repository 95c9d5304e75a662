import { describe, expect, it } from 'vitest'
import { START_POSITION } from '../../src/core/batch.js'
import type { MaxUnavailable, Member } from '../../src/core/model.js'
import { countPools, nextBatch, type RolloutFacts } from '../../src/core/next-batch.js'
import {
  aControl,
  aGroup,
  anEtcd,
  aPool,
  aWorker,
  LARGE,
  several,
  someFacts,
  someSettings,
} from '../support/builders.js'
import { next, stopped, upToDate } from './next-batch-words.js'

describe('who goes next', () => {
  it.each<[string, Member[], string]>([
    ['nobody, when nothing differs', several(3, aWorker, 'w', upToDate), 'done'],
    ['nobody, in a cluster without pools', [], 'done'],
    [
      'an etcd machine before everybody else',
      [aWorker('w-1'), ...several(3, aControl, 'cp'), ...several(3, anEtcd, 'e')],
      'e-1 roll',
    ],
    ['one etcd machine, though all differ', several(5, anEtcd, 'e'), 'e-1 roll'],
    ['control nodes before workers', [aWorker('w-1'), ...several(3, aControl, 'cp')], 'cp-1 roll'],
    ['one control node, though all differ', several(5, aControl, 'cp'), 'cp-1 roll'],
    [
      'those that differ, not those that do not',
      [aWorker('w-1', upToDate), aWorker('w-2'), aWorker('w-10')],
      'w-2 roll',
    ],
  ])('CKS-08 %s', (_, members, expected) => {
    expect(next(someFacts(members))).toBe(expected)
  })

  it('CKS-08 worker pools one after another, in the order of the spec, never two in one batch', () => {
    const members = [...several(3, aWorker, 'a', { pool: 'a' }), ...several(3, aWorker, 'b', { pool: 'b' })]
    const pools = ['b', 'a'].map((name) => aPool(name, { settings: LARGE, maxUnavailable: { count: 2 } }))

    expect(next(someFacts(members, { pools }))).toBe('b-1 roll, b-2 roll')
    const half = members.map((member) =>
      member.pool === 'b' && member.machine.name !== 'b-3'
        ? aWorker(member.machine.name, { pool: 'b', ...upToDate })
        : member,
    )
    expect(next(someFacts(half, { pools }))).toBe('b-3 roll')
  })

  it('CKS-10 the reason is each difference, and what the machine had is kept to go back to', () => {
    const member = aWorker('w-1', {
      machine: { providerId: 'sim://1', affinityGroups: [aGroup('near'), aGroup('host-7', true)] },
      node: { providerId: 'sim://1' },
    })
    const settings = { offerings: ['large', 'huge'], rootDiskGiB: 80, affinityGroups: ['far'] }

    const answer = nextBatch(
      someFacts([member, aWorker('w-2', upToDate)], { pools: [aPool('worker', { settings })] }),
      START_POSITION,
    )

    expect(answer.kind === 'batch' && answer.batch).toEqual({
      pool: 'worker',
      type: 'worker',
      recovery: false,
      nodes: [
        {
          node: 'w-1',
          machineId: 'id-w-1',
          machineName: 'w-1',
          providerId: 'sim://1',
          pool: 'worker',
          type: 'worker',
          how: 'roll',
          etcdMember: false,
          why: 'offering small → large or huge, root disk 50 → 80 GiB, affinity groups near → far',
          was: { offering: 'small', rootDiskGiB: 50, affinityGroups: ['near'] },
          wants: settings,
        },
      ],
    })
  })

  it.each<[string, Member[], boolean]>([
    ['an external etcd machine', several(3, anEtcd, 'e'), true],
    ['a control node with stacked etcd', several(3, aControl, 'cp'), true],
    [
      'a control node beside external etcd',
      [...several(3, anEtcd, 'e', upToDate), ...several(3, aControl, 'cp')],
      false,
    ],
    ['a worker', [aWorker('w-1')], false],
  ])('CKS-18 has it an etcd member that must come back? %s', (_, members, expected) => {
    const answer = nextBatch(someFacts(members), START_POSITION)

    expect(answer.kind === 'batch' && answer.batch.nodes[0]?.etcdMember).toBe(expected)
  })
})

describe('how many workers go at once', () => {
  function facts(members: readonly Member[], maxUnavailable: MaxUnavailable): RolloutFacts {
    return someFacts(members, { pools: [aPool('worker', { settings: LARGE, maxUnavailable })] })
  }
  const cordoned = { ...upToDate, node: { unschedulable: true } }

  it.each<[string, Member[], MaxUnavailable, string]>([
    ['one by default', several(4, aWorker, 'w'), { count: 1 }, 'w-1 roll'],
    ['as many as asked for', several(4, aWorker, 'w'), { count: 2 }, 'w-1 roll, w-2 roll'],
    ['all but one at the most', several(3, aWorker, 'w'), { count: 9 }, 'w-1 roll, w-2 roll'],
    ['the only one', several(1, aWorker, 'w'), { count: 9 }, 'w-1 roll'],
    [
      'a percentage of the pool, up-to-date machines included',
      [...several(2, aWorker, 'w'), ...several(2, aWorker, 'x', upToDate)],
      { percent: 50 },
      'w-1 roll, w-2 roll',
    ],
    [
      'one less for a node that somebody has cordoned',
      [...several(3, aWorker, 'w'), aWorker('x-1', cordoned)],
      { count: 2 },
      'w-1 roll',
    ],
    [
      'one less for a node that is not ready',
      [...several(3, aWorker, 'w'), aWorker('x-1', { ...upToDate, node: { ready: 'notReady' } })],
      { count: 2 },
      'w-1 roll',
    ],
    [
      'one may always go',
      [...several(3, aWorker, 'w'), aWorker('x-1', cordoned), aWorker('x-2', cordoned)],
      { count: 1 },
      'w-1 roll',
    ],
    [
      'a cordoned node that is out of date itself takes no further place',
      [aWorker('w-1', { node: { unschedulable: true } }), ...several(3, aWorker, 'x')],
      { count: 2 },
      'w-1 roll, x-1 roll',
    ],
  ])('CKS-09 %s', (_, members, maxUnavailable, expected) => {
    expect(next(facts(members, maxUnavailable))).toBe(expected)
  })

  it('CKS-09 what is unavailable in another pool takes no place in this one', () => {
    const members = [...several(4, aWorker, 'w'), aWorker('x-1', { pool: 'other', ...cordoned })]
    const pools = ['worker', 'other'].map((name) =>
      aPool(name, { settings: LARGE, maxUnavailable: { count: 2 } }),
    )

    expect(next(someFacts(members, { pools }))).toBe('w-1 roll, w-2 roll')
  })

  it.each([
    ['with all the others up', 0],
    ['with 20 of the 100 already unavailable', 20],
  ])('CKS-09 a batch holds 50 nodes, %s', (_, unavailable) => {
    const members = [...several(200, aWorker, 'w'), ...several(unavailable, aWorker, 'x', cordoned)]

    const answer = nextBatch(facts(members, { count: 100 }), START_POSITION)

    expect(answer.kind === 'batch' && answer.batch.nodes.length).toBe(50)
  })

  it('CKS-09 an override of the running rollout replaces what the spec says', () => {
    const position = { ...START_POSITION, maxUnavailable: { worker: { count: 3 } } }

    expect(next(facts(several(5, aWorker, 'w'), { count: 1 }), position)).toBe('w-1 roll, w-2 roll, w-3 roll')
  })

  it.each<[string, MaxUnavailable, string[]]>([
    ['is said', { count: 9 }, ['pool worker: maxUnavailable 9 becomes 2 of 3 workers']],
    ['that changes nothing is not mentioned', { count: 2 }, []],
  ])('CKS-09 a clamp %s', (_, maxUnavailable, expected) => {
    const members = several(3, aWorker, 'w')

    expect(nextBatch(facts(members, maxUnavailable), START_POSITION).view.notes).toEqual(expected)
  })

  it('CKS-09 pools without workers and pools of other types say nothing of a clamp', () => {
    const pools = [
      aPool('control', { maxUnavailable: { count: 9 } }),
      aPool('empty', { maxUnavailable: { count: 9 } }),
    ]

    expect(nextBatch(someFacts(several(3, aControl, 'cp'), { pools }), START_POSITION).view.notes).toEqual([])
  })
})

describe('counts per pool', () => {
  it('CKS-06 machines, those out of date, those unavailable; pools without machines too', () => {
    const members = [
      aControl('cp-1'),
      aWorker('w-1', stopped()),
      aWorker('w-2', { ...upToDate, node: { unschedulable: true } }),
      aWorker('w-3', upToDate),
    ]
    const pools = [
      aPool('control', { settings: someSettings({ rootDiskGiB: 50 }) }),
      aPool('worker', { settings: LARGE }),
      aPool('gpu', { settings: LARGE }),
    ]

    expect(countPools({ pools, members })).toEqual([
      { pool: 'control', type: 'control', machines: 1, outOfDate: 0, unavailable: 0 },
      { pool: 'worker', type: 'worker', machines: 3, outOfDate: 1, unavailable: 2 },
      { pool: 'gpu', type: 'worker', machines: 0, outOfDate: 0, unavailable: 0 },
    ])
  })
})
