import { describe, expect, it } from 'vitest'
import { type Position, START_POSITION } from '../../src/core/batch.js'
import { type Member, NO_SETTINGS } from '../../src/core/model.js'
import { nextBatch, type RolloutFacts } from '../../src/core/next-batch.js'
import {
  aControl,
  aNode,
  anEtcd,
  aWorker,
  CORDONED_BY_US,
  QUARANTINE,
  several,
  someFacts,
} from '../support/builders.js'
import { cordonedByUs, next, skips, stopped, upToDate } from './next-batch-words.js'

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
