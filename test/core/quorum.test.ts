import { describe, expect, it } from 'vitest'
import type { EtcdMember, EtcdView, Machine, Member, NodeRecord } from '../../src/core/model.js'
import {
  cannotLoseANode,
  expectedVoters,
  mayLeave,
  quorumOf,
  unsettled,
  whyDown,
} from '../../src/core/quorum.js'
import { aControl, aMachine, aNode, anEtcd, aVoter, aWorker, etcdOf, several } from '../support/builders.js'

const DOWN: Record<string, Partial<EtcdMember>> = {
  unhealthy: { health: 'unhealthy' },
  unreachable: { health: 'unknown' },
  lagging: { caughtUp: false, behind: 5_000 },
}

function voters(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `m${index + 1}`)
}

describe('quorum', () => {
  it.each([
    [1, 1],
    [2, 2],
    [3, 2],
    [4, 3],
    [5, 3],
    [6, 4],
    [7, 4],
  ])('CKS-13 of %i voters is %i', (count, expected) => {
    expect(quorumOf(count)).toBe(expected)
  })

  it.each(Object.entries(DOWN))(
    'CKS-13 clusters of 1 to 7 members, every subset of them %s, every one leaving',
    (_, down) => {
      const wrong: string[] = []
      for (let count = 1; count <= 7; count++) {
        const names = voters(count)
        for (let subset = 0; subset < 2 ** count; subset++) {
          const isDown = (index: number) => (subset >> index) % 2 === 1
          const view = etcdOf(names.map((name, index) => (isDown(index) ? aVoter(name, down) : name)))
          for (const [index, leaving] of names.entries()) {
            const left = names.filter((_name, i) => i !== index && !isDown(i)).length
            if (mayLeave(names, view, [leaving]).ok !== left * 2 > count)
              wrong.push(`${count}, ${subset}, ${leaving}`)
          }
        }
      }

      expect(wrong).toEqual([])
    },
  )

  it('CKS-13 the majority is of all expected voters, the leaving one included: 2 of 4 are none', () => {
    const view = etcdOf(['m1', 'm2', 'm3', aVoter('m4', { health: 'unhealthy' })])

    expect(mayLeave(voters(4), view, ['m3'])).toEqual({
      ok: false,
      why: 'etcd would keep 2 healthy voters of 4, needs 3 (m4 is unhealthy)',
    })
  })

  it.each<[string, string[], EtcdView, string[], string | null]>([
    [
      'B07 a one of three is down, and another is to go',
      voters(3),
      etcdOf(['m2', 'm1', aVoter('m3', { health: 'unknown' })]),
      ['m1'],
      'etcd would keep 1 healthy voters of 3, needs 2 (m3 is unreachable)',
    ],
    [
      'B07 b an expected member that etcd does not list, and another is to go',
      voters(3),
      etcdOf(['m1', 'm2']),
      ['m1'],
      'etcd would keep 1 healthy voters of 3, needs 2 (m3 is missing from the member list)',
    ],
    [
      'B07 c the member that is down is the one to go',
      voters(3),
      etcdOf(['m1', 'm2', aVoter('m3', { health: 'unknown' })]),
      ['m3'],
      null,
    ],
    ['CKS-13 all healthy', voters(3), etcdOf(voters(3)), ['m2'], null],
    [
      'CKS-13 a learner keeps no quorum',
      voters(3),
      etcdOf(['m1', 'm2', aVoter('m3', { learner: true })]),
      ['m1'],
      'etcd would keep 1 healthy voters of 3, needs 2 (m3 is a learner)',
    ],
    [
      'CKS-13 a learner that nobody expects raises no majority',
      voters(3),
      etcdOf([...voters(3), aVoter('new', { learner: true })]),
      ['m1'],
      null,
    ],
    [
      'CKS-13 a voter that lags counts as down',
      voters(3),
      etcdOf(['m1', 'm2', aVoter('m3', { caughtUp: false, behind: 5_000 })]),
      ['m1'],
      'etcd would keep 1 healthy voters of 3, needs 2 (m3 lags 5,000 entries behind)',
    ],
    [
      'CKS-00 a voter that only etcd knows counts: two unexpected ones that are down',
      voters(3),
      etcdOf([...voters(3), aVoter('x1', { health: 'unknown' }), aVoter('x2', { health: 'unknown' })]),
      ['m1'],
      'etcd would keep 2 healthy voters of 5, needs 3 (x1 is unreachable, x2 is unreachable)',
    ],
    [
      'CKS-00 a member whose machine was made anew without removing it is one more voter: the new one leaving',
      voters(3),
      etcdOf(['m1', 'm2', aVoter('m3', { id: 'gone', health: 'unknown' }), 'm3']),
      ['m3'],
      'etcd would keep 2 healthy voters of 4, needs 3 (etcd lists m3 more than once: remove the member that is gone)',
    ],
    [
      'CKS-00 the same with another leaving',
      voters(3),
      etcdOf(['m1', 'm2', 'm3', aVoter('m3', { id: 'gone', health: 'unknown' })]),
      ['m1'],
      'etcd would keep 2 healthy voters of 4, needs 3 (m3 is unreachable, etcd lists m3 more than once: remove the member that is gone)',
    ],
    [
      'CKS-13 an etcd that cannot be asked is not an etcd without members',
      voters(3),
      { kind: 'unknown', why: 'timed out' },
      ['m1'],
      'etcd membership is unknown: timed out',
    ],
    [
      'CKS-13 nobody expected and nobody there is no quorum',
      [],
      etcdOf([]),
      ['m1'],
      'etcd would keep 0 healthy voters of 0, needs 1',
    ],
    ['CKS-13 two leave at once', voters(5), etcdOf(voters(5)), ['m1', 'm2'], null],
    [
      'CKS-13 three of five leave at once',
      voters(5),
      etcdOf(voters(5)),
      ['m1', 'm2', 'm3'],
      'etcd would keep 2 healthy voters of 5, needs 3',
    ],
  ])('%s', (_, expected, view, leaving, why) => {
    expect(mayLeave(expected, view, leaving)).toEqual(why === null ? { ok: true } : { ok: false, why })
  })

  it.each<[string, EtcdMember | undefined, string | null]>([
    ['started, healthy and caught up', aVoter('m1'), null],
    ['not in the list', undefined, 'is missing from the member list'],
    ['a learner', aVoter('m1', { learner: true }), 'is a learner'],
    ['unhealthy', aVoter('m1', { health: 'unhealthy' }), 'is unhealthy'],
    ['not reachable', aVoter('m1', { health: 'unknown' }), 'is unreachable'],
    ['behind', aVoter('m1', { caughtUp: false, behind: 5_000 }), 'lags 5,000 entries behind'],
    [
      'so far behind that it cannot finish a read',
      aVoter('m1', { health: 'unhealthy', caughtUp: false, behind: 1_001 }),
      'lags 1,001 entries behind',
    ],
    [
      'healthy and does not say how far it is',
      aVoter('m1', { caughtUp: false, behind: null }),
      'does not tell how far it is',
    ],
  ])('CKS-13 a member that is %s', (_, member, expected) => {
    expect(whyDown(member)).toBe(expected)
  })
})

describe('who should be a voter', () => {
  it.each<[string, Member[], NodeRecord[], string[]]>([
    [
      'stacked: the control nodes',
      [aControl('cp-1'), aControl('cp-2'), aWorker('w-1')],
      [],
      ['cp-1', 'cp-2'],
    ],
    [
      'control nodes in no pool always count',
      [aWorker('w-1')],
      [aNode('cp-1', { controlPlane: true }), aNode('o-1')],
      ['cp-1'],
    ],
    [
      'external: the etcd machines and no control node',
      [anEtcd('e-1'), anEtcd('e-2'), aControl('cp-1')],
      [aNode('cp-2', { controlPlane: true })],
      ['e-1', 'e-2'],
    ],
    ['a stopped control machine without a Node', [aControl('cp-1', { node: null })], [], ['cp-1']],
  ])('CKS-00 %s', (_, members, outsiders, expected) => {
    expect(expectedVoters(members, outsiders)).toEqual(expected)
  })
})

describe('types that cannot lose a node', () => {
  const controls = (count: number) => several(count, aControl, 'cp')
  const etcds = (count: number) => several(count, anEtcd, 'e')

  it.each<[string, 'control' | 'etcd' | 'worker', Member[], NodeRecord[], string | null]>([
    [
      'the only control node',
      'control',
      controls(1),
      [],
      'the only one of its type (control nodes with stacked etcd)',
    ],
    [
      'two control nodes with etcd on them',
      'control',
      controls(2),
      [],
      'one of only 2 control nodes with stacked etcd',
    ],
    ['three control nodes', 'control', controls(3), [], null],
    ['four control nodes', 'control', controls(4), [], null],
    [
      'one in the pool and two outside are three',
      'control',
      controls(1),
      [aNode('o-1', { controlPlane: true }), aNode('o-2', { controlPlane: true })],
      null,
    ],
    [
      'nodes outside that are no control nodes do not count',
      'control',
      controls(2),
      [aNode('o-1')],
      'one of only 2 control nodes with stacked etcd',
    ],
    [
      'all pools of a type together',
      'control',
      [...controls(2), aControl('x-1', { pool: 'other' })],
      [],
      null,
    ],
    ['two control nodes with external etcd', 'control', [...controls(2), ...etcds(3)], [], null],
    [
      'one control node with external etcd',
      'control',
      [...controls(1), ...etcds(3)],
      [],
      'the only one of its type (control nodes)',
    ],
    ['one etcd member', 'etcd', etcds(1), [], 'the only one of its type (etcd members)'],
    ['two etcd members', 'etcd', [...controls(3), ...etcds(2)], [], 'one of only 2 etcd members'],
    ['three etcd members', 'etcd', etcds(3), [], null],
    ['one worker: workers can always go', 'worker', [aWorker('w-1')], [], null],
  ])('CKS-14 %s', (_, type, members, outsiders, expected) => {
    expect(cannotLoseANode(type, members, outsiders)).toBe(expected)
  })
})

describe('a machine that something is being done to', () => {
  it.each<[string, Partial<Machine>, string | null]>([
    ['runs', {}, null],
    ['is stopped', { power: 'stopped' }, null],
    ['has an operation', { operation: 'resize' }, 'w-1: resize in progress'],
    ['has an operation while stopped', { power: 'stopped', operation: 'resize' }, 'w-1: resize in progress'],
    ['starts', { power: 'starting' }, 'w-1 is starting'],
    ['stops', { power: 'stopping' }, 'w-1 is stopping'],
    ['cannot be seen', { power: 'unknown' }, 'the power state of w-1 is unknown'],
  ])('CKS-21 it %s', (_, machine, expected) => {
    expect(unsettled(aMachine('w-1', machine))).toBe(expected)
  })
})
