import { describe, expect, it } from 'vitest'
import type { ClusterRecord } from '../../src/core/record.js'
import { type Ending, endRecord, leftCordoned, releaseDecisions } from '../../src/core/release.js'
import {
  ACTING,
  aMachine,
  aNode,
  anAttempt,
  aRecord,
  CORDONED_BY_US,
  someMarks,
} from '../support/builders.js'

describe('what release finds', () => {
  const acted = someMarks({ bootId: 'b1', attempt: anAttempt(), acting: ACTING })
  const nodes = [
    aNode('plain'),
    aNode('foreign', { unschedulable: true }),
    aNode('cordoned', { marks: CORDONED_BY_US, providerId: 'SIM://cordoned' }),
    aNode('acted', { marks: acted }),
    aNode('lost', { marks: CORDONED_BY_US }),
  ]
  const machines = ['plain', 'foreign', 'cordoned', 'acted'].map((name) => aMachine(name))

  it('CKS-21 decides on marked nodes only, each with its own machine; foreign cordons are no concern', () => {
    const decided = releaseDecisions(nodes, machines).map(({ node, decision }) => [node.name, decision.kind])

    expect(decided).toEqual([
      ['cordoned', 'giveBack'],
      ['acted', 'leave'],
      ['lost', 'leave'],
    ])
  })

  it('CKS-21 names the nodes that stay cordoned, with the reason', () => {
    expect(leftCordoned(releaseDecisions(nodes, machines))).toEqual([
      { name: 'acted', pool: '', why: 'stop was under way and the boot id is the old one' },
      { name: 'lost', pool: '', why: 'its machine is not at the provider' },
    ])
  })
})

describe('the record at the end', () => {
  const CAPACITY = { machines: 3, cpu: 12, memoryMiB: 1024 }
  const running: ClusterRecord = aRecord({
    cluster: 'prod',
    identity: 'uid-1',
    state: 'Updating',
    rollout: 'holder',
    pools: {},
    poolOrder: ['worker'],
    lastError: 'the time before last',
    before: { rollout: 'holder', state: 'Alert', pools: {}, poolOrder: [], lastError: 'older' },
  })

  it.each<[string, string[], 'Running' | 'Alert']>([
    ['Running when healthy', [], 'Running'],
    ['Alert when not', ['node w-1 is not ready'], 'Alert'],
  ])(
    'CKS-21 state is %s; capacity is recounted, and nothing of the rollout is left',
    (_, unhealthy, state) => {
      expect(endRecord(running, unhealthy, CAPACITY, null)).toEqual({
        ...running,
        state,
        capacity: CAPACITY,
        rollout: null,
        before: null,
      })
    },
  )

  it.each<[string, Ending | null, string | null]>([
    ['set to why the rollout stopped', { lastError: 'drain of w-1', clearLastError: false }, 'drain of w-1'],
    [
      'set to who was skipped, though all else succeeded',
      { lastError: 'skipped: w-1', clearLastError: true },
      'skipped: w-1',
    ],
    ['cleared by a rollout with nothing failed or skipped', { lastError: null, clearLastError: true }, null],
    [
      'kept where there is nothing to say',
      { lastError: null, clearLastError: false },
      'the time before last',
    ],
    ['kept by releaseCluster, which is no rollout', null, 'the time before last'],
  ])('CKS-21 lastError is %s', (_, ending, expected) => {
    expect(endRecord(running, [], CAPACITY, ending).lastError).toBe(expected)
  })

  it('CKS-21 run twice, the second record is the first', () => {
    const ending = { lastError: 'drain of w-1', clearLastError: false }
    const once = endRecord(running, ['node w-1 is not ready'], CAPACITY, ending)

    expect(endRecord(once, ['node w-1 is not ready'], CAPACITY, ending)).toEqual(once)
    expect(endRecord(once, ['node w-1 is not ready'], CAPACITY, null)).toEqual(once)
  })

  it('CKS-21 keeps the capacity of before when it cannot be counted', () => {
    expect(endRecord({ ...running, capacity: CAPACITY }, [], null, null).capacity).toEqual(CAPACITY)
  })
})
