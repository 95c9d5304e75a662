import { describe, expect, it } from 'vitest'
import type { Machine, Marks, NodeRecord, Readiness } from '../../src/core/model.js'
import { NO_MARKS } from '../../src/core/model.js'
import { releaseDecision } from '../../src/core/recovery.js'
import {
  ACTED,
  ACTING,
  aMachine,
  aNode,
  anAttempt,
  CORDONED_BY_OTHERS,
  CORDONED_BY_US,
  FAILED,
  FAILURE,
  QUARANTINE,
  someMarks,
} from '../support/builders.js'

interface ReleaseCase {
  readonly title: string
  readonly node: NodeRecord
  readonly machine: Machine | null
  readonly acting: boolean
  readonly failed: boolean
  readonly boot: 'same' | 'new' | 'unknown'
  readonly atRest: boolean
}

/** Every combination of marks that a rollout can leave, on every kind of node and machine. */
function everyCase(): ReleaseCase[] {
  const machines: [string, Machine | null][] = [
    ['runs', aMachine('w')],
    ['runs, an operation in progress', aMachine('w', { operation: 'resize' })],
    ['is stopped', aMachine('w', { power: 'stopped' })],
    ['starts', aMachine('w', { power: 'starting' })],
    ['stops', aMachine('w', { power: 'stopping' })],
    ['is unknown', aMachine('w', { power: 'unknown' })],
    ['is not at the provider', null],
  ]
  const bootIds = { same: 'b1', new: 'b2', unknown: null } as const
  const readiness: Readiness[] = ['ready', 'notReady', 'unknown']
  const cordons: [string, Marks][] = [
    ['cordoned by us', CORDONED_BY_US],
    ['cordoned by others', CORDONED_BY_OTHERS],
  ]
  const cases: ReleaseCase[] = []
  for (const [cordon, marks] of cordons)
    for (const acting of [false, true])
      for (const failed of [false, true])
        for (const boot of ['same', 'new', 'unknown'] as const)
          for (const ready of readiness)
            for (const [power, machine] of machines)
              cases.push({
                title: `${cordon}, acting ${acting}, failed ${failed}, boot id ${boot}, ${ready}, machine ${power}`,
                node: aNode('w', {
                  marks: { ...marks, acting: acting ? ACTING : null, failure: failed ? FAILURE : null },
                  bootId: bootIds[boot],
                  ready,
                  unschedulable: true,
                }),
                machine,
                acting,
                failed,
                boot,
                atRest: power === 'runs',
              })
  return cases
}

describe('what release does with a node', () => {
  const decide = ({ node, machine }: ReleaseCase) => releaseDecision(node, machine)
  const cameBack = ({ node, boot, failed }: ReleaseCase) =>
    boot === 'new' && node.ready === 'ready' && !failed
  const untouched = ({ acting, failed, boot, atRest }: ReleaseCase) =>
    !acting && !failed && boot === 'same' && atRest

  it('CKS-21 the whole table: (a) ready with a new boot id, not failed; (b) not acted on, same boot id, machine at rest', () => {
    const givenBack = everyCase().filter((one) => decide(one).kind === 'giveBack')
    const expected = everyCase().filter((one) => cameBack(one) || untouched(one))

    expect(givenBack.map(({ title }) => title)).toEqual(expected.map(({ title }) => title))
    expect([everyCase().filter(cameBack).length, everyCase().filter(untouched).length]).toEqual([28, 6])
  })

  it('CKS-21 every node that is not given back is left with a reason', () => {
    const silent = everyCase().filter((one) => {
      const decision = decide(one)
      return decision.kind === 'nothing' || decision.why === ''
    })

    expect(silent).toEqual([])
  })

  it.each<[string, Partial<NodeRecord>, Machine | null, string]>([
    [
      'CKS-21 an unmarked node is nobody’s business',
      { marks: NO_MARKS, unschedulable: true },
      null,
      'nothing',
    ],
    [
      'K1 a node on which nothing was done goes back, though it is not ready',
      { marks: CORDONED_BY_US, ready: 'notReady' },
      aMachine('w'),
      'giveBack: nothing was done to it',
    ],
    [
      'CKS-21 a node that came back',
      { marks: ACTED, bootId: 'b2' },
      aMachine('w'),
      'giveBack: ready with a new boot id',
    ],
    [
      'CKS-21 a node that came back, while its machine cannot be found',
      { marks: ACTED, bootId: 'b2' },
      null,
      'giveBack: ready with a new boot id',
    ],
    [
      'CKS-21 acting, the old boot id',
      { marks: ACTED },
      aMachine('w'),
      'leave: stop was under way and the boot id is the old one',
    ],
    [
      'CKS-21 acting, booted, not ready',
      { marks: ACTED, bootId: 'b2', ready: 'notReady' },
      aMachine('w'),
      'leave: stop was under way, booted since, not ready',
    ],
    [
      'K2 a failure mark stays, whatever else is well',
      { marks: FAILED, bootId: 'b2' },
      aMachine('w'),
      'leave: failed in verify: not ready',
    ],
    [
      'CKS-21 a node in quarantine, on which nothing was done',
      { marks: { ...CORDONED_BY_US, quarantine: QUARANTINE } },
      aMachine('w'),
      'leave: in quarantine since 2026-01-02T03:07:00Z: its pods did not go',
    ],
    [
      'CKS-21 a node in quarantine, also when it came back by itself',
      { marks: { ...CORDONED_BY_US, quarantine: QUARANTINE }, bootId: 'b2' },
      aMachine('w'),
      'leave: in quarantine since 2026-01-02T03:07:00Z: its pods did not go',
    ],
    [
      'CKS-21 marks that cannot be read',
      { marks: someMarks({ bootId: 'b1', unreadable: ['noderoll.io/attempt'] }), bootId: 'b2' },
      aMachine('w'),
      'leave: its marks cannot be read (noderoll.io/attempt)',
    ],
    [
      'CKS-21 a machine with an operation in progress',
      { marks: CORDONED_BY_US },
      aMachine('w', { operation: 'stop' }),
      'leave: w: stop in progress',
    ],
    [
      'CKS-21 a stopped machine',
      { marks: CORDONED_BY_US },
      aMachine('w', { power: 'stopped' }),
      'leave: its machine is stopped',
    ],
    [
      'CKS-21 a machine that cannot be found is not a machine at rest',
      { marks: CORDONED_BY_US },
      null,
      'leave: its machine is not at the provider',
    ],
    [
      'CKS-24 marked while its machine was off, and back since',
      {
        marks: someMarks({ bootId: 'none', attempt: anAttempt({ bootId: null }), acting: ACTING }),
        bootId: 'b1',
      },
      aMachine('w'),
      'giveBack: ready with a new boot id',
    ],
  ])('%s', (_, node, machine, expected) => {
    const decision = releaseDecision(aNode('w', node), machine)

    expect(decision.kind === 'nothing' ? 'nothing' : `${decision.kind}: ${decision.why}`).toBe(expected)
  })

  it.each<[string, Partial<NodeRecord>, string]>([
    ['ready with a boot id', { bootId: 'b1' }, 'giveBack'],
    ['with a boot id, not ready', { bootId: 'b1', ready: 'notReady' }, 'leave'],
    ['still without one', { bootId: null }, 'leave'],
  ])('CKS-21 marked while it had no boot id, and now it is %s', (_, node, expected) => {
    const marks = someMarks({ bootId: 'none', attempt: anAttempt({ bootId: null }) })

    expect(releaseDecision(aNode('w', { ...node, marks }), aMachine('w')).kind).toBe(expected)
  })
})
