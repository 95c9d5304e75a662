import { describe, expect, it } from 'vitest'
import { type Batch, batchNodeName, type Position, START_POSITION } from '../../src/core/batch.js'
import { type MaxUnavailable, type Member, NO_SETTINGS } from '../../src/core/model.js'
import { countPools, nextBatch, type RolloutFacts } from '../../src/core/next-batch.js'
import {
  ACTING,
  aControl,
  aGroup,
  aNode,
  anAttempt,
  anEtcd,
  aPool,
  aWorker,
  CORDONED_BY_US,
  FAILURE,
  LARGE,
  QUARANTINE,
  several,
  someFacts,
  someMarks,
  someSettings,
} from '../support/builders.js'

const upToDate = { machine: { offering: 'large' } }
const stopped = (offering = 'small') => ({ machine: { power: 'stopped' as const, offering } })
/** Taken down by a rollout that ended: machine off, marks left. */
const takenDown = {
  machine: { power: 'stopped' as const },
  node: { unschedulable: true, marks: someMarks({ bootId: 'b1', attempt: anAttempt(), acting: ACTING }) },
}
/** Cordoned by a rollout that ended before it acted. */
const cordonedByUs = { node: { unschedulable: true, marks: CORDONED_BY_US } }
const unreadable = { node: { marks: someMarks({ unreadable: ['noderoll.io/attempt'] }) } }

/** One batch of a plan in words: `recovery w-1 start`. */
function say(batch: Batch): string {
  const nodes = batch.nodes.map((node) => `${batchNodeName(node)} ${node.how}`)
  return `${batch.recovery ? 'recovery ' : ''}${nodes.join(', ')}`
}

function next(facts: RolloutFacts, position: Position = START_POSITION): string {
  const answer = nextBatch(facts, position)
  switch (answer.kind) {
    case 'batch':
      return say(answer.batch)
    case 'wait':
      return `waits: ${answer.why.join('; ')}`
    case 'done':
      return 'done'
    default:
      return answer satisfies never
  }
}

function skips(facts: RolloutFacts, position: Position = START_POSITION): string[] {
  return nextBatch(facts, position).view.skipped.map(({ name, why }) => `${name}: ${why}`)
}

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

describe('recovery comes first', () => {
  it.each<[string, Member[], string]>([
    [
      'a stopped machine, up to date',
      [aWorker('w-1'), aWorker('w-2', stopped('large'))],
      'recovery w-2 start',
    ],
    ['a stopped machine, out of date', [aWorker('w-1'), aWorker('w-2', stopped())], 'recovery w-2 start'],
    [
      'a stopped worker before a running etcd machine',
      [...several(3, anEtcd, 'e'), aWorker('w-1', stopped())],
      'recovery w-1 start',
    ],
    ['a machine that a rollout took down', [aWorker('w-1'), aWorker('w-2', takenDown)], 'recovery w-2 start'],
    [
      'a node that a rollout cordoned, out of date',
      [aWorker('w-1'), aWorker('w-2', cordonedByUs)],
      'recovery w-2 roll',
    ],
    [
      'a node that a rollout cordoned, nothing to change',
      [aWorker('w-1'), aWorker('w-2', { ...upToDate, ...cordonedByUs })],
      'recovery w-2 return',
    ],
    [
      'stopped ones in the order etcd, control, workers',
      [
        aWorker('w-1', stopped()),
        ...several(3, aControl, 'cp', upToDate),
        aControl('cp-4', stopped()),
        ...several(3, anEtcd, 'e', upToDate),
        anEtcd('e-4', stopped()),
      ],
      'recovery e-4 start',
    ],
    [
      'stopped control nodes one at a time',
      [...several(3, aControl, 'cp'), aControl('cp-4', stopped()), aControl('cp-5', stopped())],
      'recovery cp-4 start',
    ],
    [
      'stopped workers of a pool together: starting takes nothing down',
      [...several(2, aWorker, 'w'), ...several(3, aWorker, 'x', stopped())],
      'recovery x-1 start, x-2 start, x-3 start',
    ],
    [
      'a stopped worker before a marked one that runs, though its pool comes later',
      [aWorker('w-1', { pool: 'a', ...cordonedByUs }), aWorker('x-1', { pool: 'b', ...stopped() })],
      'recovery x-1 start',
    ],
    ['marked nodes that run within the budget', several(3, aWorker, 'w', cordonedByUs), 'recovery w-1 roll'],
    [
      'a stopped machine whose Node was deleted',
      [aWorker('w-1'), aWorker('w-2', { ...stopped(), node: null })],
      'recovery w-2 start',
    ],
  ])('CKS-11 %s', (_, members, expected) => {
    expect(next(someFacts(members))).toBe(expected)
  })

  it('CKS-11 a recovery batch holds at most 50 nodes', () => {
    const answer = nextBatch(someFacts(several(120, aWorker, 'w', stopped())), START_POSITION)

    expect(answer.kind === 'batch' && answer.batch.nodes.length).toBe(50)
  })

  it('CKS-11 a stopped machine is changed while it is off', () => {
    const answer = nextBatch(someFacts([aWorker('w-1', stopped())]), START_POSITION)

    expect(answer.kind === 'batch' && answer.batch.nodes[0]).toMatchObject({
      how: 'start',
      why: 'stopped',
      wants: LARGE,
    })
  })

  it('CKS-11 startStopped: false leaves alone what somebody stopped, and the others go', () => {
    const facts = someFacts([aWorker('w-1'), aWorker('w-2', stopped())], { startStopped: false })

    expect(next(facts)).toBe('w-1 roll')
    expect(skips(facts)).toEqual(['w-2: stopped, and startStopped is false'])
  })

  it('CKS-11 startStopped: false still brings back what a rollout took down', () => {
    const members = [aWorker('w-1'), aWorker('w-2', takenDown)]

    expect(next(someFacts(members, { startStopped: false }))).toBe('recovery w-2 start')
  })

  it('CKS-11 what is skipped holds nobody up', () => {
    const leave = [{ name: 'w-2', pool: 'worker', why: 'an operator said so' }]
    const facts = someFacts([aWorker('w-1'), aWorker('w-2', stopped())])

    expect(next(facts, { ...START_POSITION, leave })).toBe('w-1 roll')
    expect(skips(facts, { ...START_POSITION, leave })).toEqual(['w-2: an operator said so'])
  })

  it('CKS-11 marks that cannot be read are for a person: skipped, whatever the machine does', () => {
    const facts = someFacts([aWorker('w-1'), aWorker('w-2', { ...unreadable, ...stopped() })])

    expect(next(facts)).toBe('w-1 roll')
    expect(skips(facts)).toEqual(['w-2: its marks cannot be read (noderoll.io/attempt)'])
  })
})

describe('asking again resumes', () => {
  const acted = someMarks({ bootId: 'b1', attempt: anAttempt(), acting: ACTING })
  const rebooted = { unschedulable: true, bootId: 'b2', marks: acted }

  it.each<[string, Member, string]>([
    [
      'a node that came back by itself is given back without a restart',
      aWorker('w-2', { ...upToDate, node: rebooted }),
      'recovery w-2 return',
    ],
    [
      'a node that came back, and is out of date again, is rolled',
      aWorker('w-2', { node: rebooted }),
      'recovery w-2 roll',
    ],
    [
      'an act that was announced and never happened is done now',
      aWorker('w-2', { node: { unschedulable: true, marks: acted } }),
      'recovery w-2 roll',
    ],
    [
      'a failed node that came back since is verified again',
      aWorker('w-2', { ...upToDate, node: { ...rebooted, marks: { ...acted, failure: FAILURE } } }),
      'recovery w-2 return',
    ],
    [
      'a failed node that never came back is restarted',
      aWorker('w-2', { ...upToDate, node: { unschedulable: true, marks: { ...acted, failure: FAILURE } } }),
      'recovery w-2 roll',
    ],
  ])('CKS-22 %s', (_, member, expected) => {
    expect(next(someFacts([aWorker('w-1'), member]))).toBe(expected)
  })
})

describe('waiting for what is on its way', () => {
  it.each<[string, Member[], string]>([
    [
      'a machine that starts',
      [aWorker('w-1'), aWorker('w-2', { machine: { power: 'starting' } })],
      'waits: w-2 is starting',
    ],
    [
      'an operation of the provider, on a machine that is up to date',
      [aWorker('w-1'), aWorker('w-2', { machine: { offering: 'large', operation: 'snapshot' } })],
      'waits: w-2: snapshot in progress',
    ],
    [
      'unknown power is not running',
      [aWorker('w-1'), aWorker('w-2', { machine: { power: 'unknown' } })],
      'waits: the power state of w-2 is unknown',
    ],
    [
      'all of them are named',
      [
        aWorker('w-1', { machine: { power: 'stopping' } }),
        aControl('cp-1', { machine: { power: 'starting' } }),
      ],
      'waits: cp-1 is starting; w-1 is stopping',
    ],
  ])('CKS-11 %s', (_, members, expected) => {
    expect(next(someFacts(members))).toBe(expected)
  })

  it('CKS-11 not for a machine that is skipped', () => {
    const facts = someFacts([aWorker('w-1'), aWorker('w-2', { machine: { power: 'starting' } })])
    const leave = [{ name: 'w-2', pool: 'worker', why: 'an operator said so' }]

    expect(next(facts, { ...START_POSITION, leave })).toBe('w-1 roll')
  })
})

describe('types that cannot lose a node', () => {
  const only = 'control cannot lose a node: it is the only one of its type (control nodes with stacked etcd)'

  it.each<[string, Member[], string, string[]]>([
    [
      'the only control node is skipped, and the workers go',
      [aControl('cp-1'), aWorker('w-1')],
      'w-1 roll',
      [`cp-1: ${only}`],
    ],
    [
      'two etcd members are skipped',
      [...several(2, anEtcd, 'e'), aWorker('w-1')],
      'w-1 roll',
      ['e-1', 'e-2'].map((name) => `${name}: etcd cannot lose a node: it is one of only 2 etcd members`),
    ],
    [
      'one that is stopped is started: that loses nothing',
      [aControl('cp-1', stopped()), aWorker('w-1')],
      'recovery cp-1 start',
      [],
    ],
    [
      'one that came back by itself is given back',
      [aControl('cp-1', { ...upToDate, ...cordonedByUs })],
      'recovery cp-1 return',
      [],
    ],
    [
      'one that a rollout marked and that runs is skipped, too',
      [aControl('cp-1', cordonedByUs), aWorker('w-1')],
      'w-1 roll',
      [`cp-1: ${only}`],
    ],
    ['one that is up to date is no news', [aControl('cp-1', upToDate), aWorker('w-1')], 'w-1 roll', []],
  ])('CKS-14 %s', (_, members, expected, skipped) => {
    expect(next(someFacts(members))).toBe(expected)
    expect(skips(someFacts(members))).toEqual(skipped)
  })

  it('CKS-14 control nodes in no pool count', () => {
    const outsiders = ['o-1', 'o-2'].map((name) => aNode(name, { controlPlane: true }))

    expect(next(someFacts([aControl('cp-1')], { outsiders }))).toBe('cp-1 roll')
  })
})

describe('a pool whose stored settings cannot be applied', () => {
  const skippedPools = { worker: 'pool worker: stored root disk would shrink' }

  it('CKS-04 is skipped node by node with the reason, and the next pool goes', () => {
    const members = [aWorker('w-1'), aWorker('x-1', { pool: 'other' })]
    const facts = someFacts(members, { skippedPools })

    expect(next(facts)).toBe('x-1 roll')
    expect(skips(facts)).toEqual(['w-1: pool worker: stored root disk would shrink'])
  })

  it('CKS-04 has its stopped machine started, with the settings it has', () => {
    const answer = nextBatch(someFacts([aWorker('w-1', stopped())], { skippedPools }), START_POSITION)

    expect(answer.kind === 'batch' && answer.batch.nodes[0]).toMatchObject({
      how: 'start',
      wants: NO_SETTINGS,
    })
  })

  it('CKS-04 has its cordoned node given back, since there is nothing to change on it', () => {
    const facts = someFacts([aWorker('w-1', cordonedByUs)], { skippedPools })

    expect(next(facts)).toBe('recovery w-1 return')
  })

  it('CKS-06 still counts what is out of date in it', () => {
    const facts = someFacts([aWorker('w-1')], { skippedPools })

    expect(nextBatch(facts, START_POSITION).view.counts).toEqual([
      { pool: 'worker', type: 'worker', machines: 1, outOfDate: 1, unavailable: 0 },
    ])
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

describe('nodes in quarantine', () => {
  const marks = { ...CORDONED_BY_US, quarantine: QUARANTINE }
  const quarantined = (name: string, machine = {}) =>
    aWorker(name, { node: { unschedulable: true, marks }, machine })
  const ours = { holder: QUARANTINE.rollout }
  const start = { leave: [], maxUnavailable: {} }

  function answer(facts: RolloutFacts, position: Position = start): string {
    const found = nextBatch(facts, position)
    if (found.kind !== 'batch') return found.kind
    const { nodes, again, recovery } = found.batch
    return `${nodes.map((node) => `${node.node} ${node.how}`).join(', ')}${again ? ' again' : recovery ? ' recovery' : ''}`
  }

  it.each<[string, RolloutFacts, Position, string]>([
    [
      'of an earlier rollout: recovery, first',
      someFacts([aWorker('w-1'), quarantined('w-2')]),
      start,
      'w-2 roll recovery',
    ],
    [
      'of this rollout: after all others',
      someFacts([aWorker('w-1'), quarantined('w-2')], ours),
      start,
      'w-1 roll',
    ],
    ['when nothing else is left: once more', someFacts([quarantined('w-2')], ours), start, 'w-2 roll again'],
    ['once, not twice', someFacts([quarantined('w-2')], ours), { ...start, retried: ['id-w-2'] }, 'done'],
    [
      'each of them once',
      someFacts([quarantined('w-1'), quarantined('w-2')], ours),
      { ...start, retried: ['id-w-1'] },
      'w-2 roll again',
    ],
    [
      'as many at once as may be, counted as cordoned',
      someFacts(several(4, quarantined, 'w'), ours),
      { ...start, maxUnavailable: { worker: { count: 2 } } },
      'w-1 roll again',
    ],
    [
      'stopped by somebody meanwhile: started like any other',
      someFacts([aWorker('w-1'), quarantined('w-2', { power: 'stopped' })], ours),
      start,
      'w-2 start recovery',
    ],
    [
      'no longer out of date: given back',
      someFacts([aWorker('w-1'), quarantined('w-2', { offering: 'large' })], ours),
      start,
      'w-2 return recovery',
    ],
  ])('CKS-11 %s', (_, facts, position, expected) => {
    expect(answer(facts, position)).toBe(expected)
  })

  it('CKS-11 every answer names them, and the last one those that stay', () => {
    const facts = someFacts([aWorker('w-1'), quarantined('w-2')], ours)
    const named = [
      { name: 'w-2', pool: 'worker', why: 'in quarantine since 2026-01-02T03:07:00Z: its pods did not go' },
    ]

    expect(nextBatch(facts, start).view.quarantined).toEqual(named)
    expect(nextBatch(someFacts([quarantined('w-2')], ours), { ...start, retried: ['id-w-2'] })).toMatchObject(
      { kind: 'done', blocked: named },
    )
  })
})
