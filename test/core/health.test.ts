import { describe, expect, it } from 'vitest'
import { capacityOf, whyUnhealthy } from '../../src/core/health.js'
import type { EtcdView, Member, NodeRecord } from '../../src/core/model.js'
import {
  aControl,
  aMachine,
  aNode,
  anEtcd,
  aVoter,
  aWorker,
  CORDONED_BY_US,
  etcdOf,
  several,
  someMarks,
} from '../support/builders.js'

const down = (name: string) => aVoter(name, { health: 'unhealthy' })

describe('why a cluster is not healthy', () => {
  it.each<[string, Member[], NodeRecord[], string[]]>([
    ['all is well', several(2, aWorker, 'w'), [], []],
    ['a foreign cordon does not count', [aWorker('w-1', { node: { unschedulable: true } })], [], []],
    [
      'a machine is stopped',
      [aWorker('w-1', { machine: { power: 'stopped' }, node: { ready: 'notReady' } })],
      [],
      ['machine of w-1 is stopped'],
    ],
    [
      'unknown power is not running',
      [aWorker('w-1', { machine: { power: 'unknown' } })],
      [],
      ['machine of w-1 is unknown'],
    ],
    ['a node is not ready', [aWorker('w-1', { node: { ready: 'notReady' } })], [], ['node w-1 is not ready']],
    [
      'unknown readiness is not ready',
      [aWorker('w-1', { node: { ready: 'unknown' } })],
      [],
      ['node w-1 is not ready'],
    ],
    ['a worker has no Node', [aWorker('w-1', { node: null })], [], ['machine w-1 has no Node']],
    ['an external etcd machine needs no Node', [anEtcd('e-1')], [], []],
    [
      'a mark of ours is left',
      [aWorker('w-1', { node: { marks: CORDONED_BY_US } })],
      [],
      ['node w-1 carries marks of noderoll'],
    ],
    [
      'a mark that cannot be read is a mark',
      [aWorker('w-1', { node: { marks: someMarks({ unreadable: ['noderoll.io/acting'] }) } })],
      [],
      ['node w-1 carries marks of noderoll'],
    ],
    [
      'a mark is left on a node that is in no pool any more',
      [],
      [aNode('o-1', { marks: CORDONED_BY_US })],
      ['node o-1 carries marks of noderoll'],
    ],
    ['a node in no pool may be in any state', [], [aNode('o-1', { ready: 'notReady' })], []],
    [
      'everything is named',
      [
        aWorker('w-1', { machine: { power: 'stopped' }, node: { marks: CORDONED_BY_US } }),
        aWorker('w-2', { node: { ready: 'unknown' } }),
      ],
      [],
      ['machine of w-1 is stopped', 'node w-1 carries marks of noderoll', 'node w-2 is not ready'],
    ],
  ])('CKS-21 %s', (_, members, outsiders, expected) => {
    expect(whyUnhealthy(members, outsiders, null)).toEqual(expected)
  })

  it.each<[string, Member[], EtcdView, string[]]>([
    ['all voters', several(3, aControl, 'cp'), etcdOf(['cp-1', 'cp-2', 'cp-3']), []],
    ['a quorum of voters', several(3, aControl, 'cp'), etcdOf(['cp-1', 'cp-2', down('cp-3')]), []],
    [
      'no quorum',
      several(3, aControl, 'cp'),
      etcdOf(['cp-1', down('cp-2'), aVoter('cp-3', { learner: true })]),
      ['etcd has 1 healthy voters of 3, needs 2'],
    ],
    [
      'an expected member is missing',
      several(2, aControl, 'cp'),
      etcdOf(['cp-1']),
      ['etcd has 1 healthy voters of 2, needs 2'],
    ],
    [
      'external etcd: the control nodes are no voters',
      [...several(3, anEtcd, 'e'), ...several(2, aControl, 'cp')],
      etcdOf(['e-1', 'e-2', down('e-3')]),
      [],
    ],
    [
      'unknown is not healthy',
      several(3, aControl, 'cp'),
      { kind: 'unknown', why: 'timed out' },
      ['etcd quorum is unknown: timed out'],
    ],
    [
      'voters that only etcd knows count',
      several(3, aControl, 'cp'),
      etcdOf(['cp-1', 'cp-2', down('cp-3'), down('x-1'), down('x-2')]),
      ['etcd has 2 healthy voters of 5, needs 3'],
    ],
  ])('CKS-21 etcd with %s', (_, members, etcd, expected) => {
    expect(whyUnhealthy(members, [], etcd)).toEqual(expected)
  })
})

describe('the capacity of a cluster', () => {
  it('CKS-21 is the sum of what its machines really have, running or not', () => {
    const machines = [
      aMachine('w-1', { cpu: 4, memoryMiB: 8192 }),
      aMachine('w-2', { cpu: 8, memoryMiB: 16_384, power: 'stopped' }),
    ]

    expect(capacityOf(machines)).toEqual({ machines: 2, cpu: 12, memoryMiB: 24_576 })
    expect(capacityOf([])).toEqual({ machines: 0, cpu: 0, memoryMiB: 0 })
  })

  it.each([{ cpu: null }, { memoryMiB: null }])('CKS-21 is unknown where one machine has %o', (unknown) => {
    expect(capacityOf([aMachine('w-1', {}), aMachine('w-2', unknown)])).toBeNull()
  })
})
