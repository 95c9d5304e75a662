import { describe, expect, it } from 'vitest'
import type { Health, Member, NodeRecord } from '../../src/core/model.js'
import {
  aBatch,
  aControl,
  aNode,
  anEtcd,
  aVoter,
  aWorker,
  CORDONED_BY_US,
  etcdOf,
  several,
} from '../support/builders.js'
import { facts, preflight } from './preflight-facts.js'

const OK: Health = { kind: 'ok' }
const [one, two, three] = [aWorker('w-1'), aWorker('w-2'), aWorker('w-3')]

describe('every other machine runs and every other node is ready', () => {
  it.each<[string, Member, string[]]>([
    ['all is well', two, []],
    [
      'a machine is stopped',
      aWorker('w-2', { machine: { power: 'stopped' } }),
      ['machine of w-2 is stopped'],
    ],
    [
      'a machine is of unknown power',
      aWorker('w-2', { machine: { power: 'unknown' } }),
      ['machine of w-2 is unknown'],
    ],
    [
      'an operation is in progress',
      aWorker('w-2', { machine: { operation: 'resize' } }),
      ['machine of w-2: resize in progress'],
    ],
    ['a node is not ready', aWorker('w-2', { node: { ready: 'notReady' } }), ['node w-2 is not ready']],
    [
      'readiness is unknown, which is not ready',
      aWorker('w-2', { node: { ready: 'unknown' } }),
      ['node w-2 is of unknown readiness'],
    ],
    ['a running machine has no Node', aWorker('w-2', { node: null }), ['machine w-2 has no Node']],
    ['a node somebody cordoned is ready all the same', aWorker('w-2', { node: { unschedulable: true } }), []],
    ['an external etcd machine needs no Node', anEtcd('e-1'), []],
    [
      'an external etcd machine is stopped',
      anEtcd('e-1', { machine: { power: 'stopped' } }),
      ['machine of e-1 is stopped'],
    ],
  ])('CKS-12 %s', (_, other, expected) => {
    expect(preflight(aBatch([one]), facts([one, other, three]))).toEqual(expected)
  })

  it('CKS-12 the nodes of the batch may be in any state', () => {
    const members = [
      aWorker('w-1', { node: { ready: 'notReady' } }),
      aWorker('w-2', { machine: { power: 'stopped' } }),
    ]

    expect(preflight(aBatch(members), facts([...members, three]))).toEqual([])
  })

  it('CKS-12 everything in the way is named', () => {
    const others = [
      aControl('cp-1', { node: { ready: 'notReady' } }),
      aWorker('w-2', { machine: { power: 'stopped' } }),
    ]

    expect(preflight(aBatch([one]), facts([one, ...others]))).toEqual([
      'node cp-1 is not ready',
      'machine of w-2 is stopped',
    ])
  })

  it('CKS-11 nodes that are left alone hold nobody up', () => {
    const others = [
      aWorker('w-2', { machine: { power: 'stopped' } }),
      aWorker('w-3', { node: { ready: 'notReady' } }),
    ]

    expect(preflight(aBatch([one]), facts([one, ...others]), { leave: ['w-2', 'w-3'] })).toEqual([])
  })

  it.each<[string, Partial<NodeRecord>, string[]]>([
    [
      'a control node in no pool counts',
      { controlPlane: true, ready: 'notReady' },
      ['control node o-1 is not ready'],
    ],
    [
      'a control node in no pool of unknown readiness counts',
      { controlPlane: true, ready: 'unknown' },
      ['control node o-1 is of unknown readiness'],
    ],
    ['a healthy control node in no pool is no obstacle', { controlPlane: true }, []],
    ['another node in no pool is no obstacle', { ready: 'notReady' }, []],
  ])('CKS-00 %s', (_, node, expected) => {
    expect(preflight(aBatch([one]), facts([one], { outsiders: [aNode('o-1', node)] }))).toEqual(expected)
  })
})

describe('workers that may be not ready', () => {
  const unready = (name: string) => aWorker(name, { node: { ready: 'notReady' } })

  it.each<[string, Member[], number, string[]]>([
    ['none by default', [unready('w-2')], 0, ['node w-2 is not ready']],
    ['as many as tolerated', [unready('w-2'), unready('w-3')], 2, []],
    [
      'one more than tolerated: all are named',
      [unready('w-2'), unready('w-3')],
      1,
      ['node w-2 is not ready', 'node w-3 is not ready'],
    ],
    [
      'control nodes are never tolerated',
      [aControl('cp-1', { node: { ready: 'notReady' } })],
      5,
      ['node cp-1 is not ready'],
    ],
    [
      'a control node does not use up what workers may',
      [aControl('cp-1', { node: { ready: 'notReady' } }), unready('w-2')],
      1,
      ['node cp-1 is not ready'],
    ],
  ])('CKS-12 %s', (_, others, tolerateUnready, expected) => {
    expect(preflight(aBatch([one]), facts([one, ...others]), { tolerateUnready })).toEqual(expected)
  })
})

describe('preflight of a recovery batch', () => {
  const down = aWorker('w-1', { machine: { power: 'stopped' } })
  const marked = { marks: CORDONED_BY_US }

  it.each<[string, Member, string[]]>([
    ['another stopped machine', aWorker('w-2', { machine: { power: 'stopped' } }), []],
    ['a stopped machine of another type', aControl('cp-1', { machine: { power: 'stopped' } }), []],
    ['another marked node that is not ready', aWorker('w-2', { node: { ready: 'notReady', ...marked } }), []],
    [
      'an unmarked node that is not ready still holds it up',
      aWorker('w-2', { node: { ready: 'notReady' } }),
      ['node w-2 is not ready'],
    ],
  ])('CKS-11 %s', (_, other, expected) => {
    expect(preflight(aBatch([down], 'start'), facts([down, other]))).toEqual(expected)
  })

  it('CKS-11 a marked node that is not ready holds up an ordinary batch', () => {
    const other = aWorker('w-2', { node: { ready: 'notReady', ...marked } })

    expect(preflight(aBatch([one]), facts([one, other]))).toEqual(['node w-2 is not ready'])
  })

  it('CKS-11 starting a stopped etcd member needs no quorum, no etcd and no API server', () => {
    const members = [
      anEtcd('e-1', { machine: { power: 'stopped' } }),
      anEtcd('e-2', { machine: { power: 'stopped' } }),
      anEtcd('e-3'),
    ]
    const found = facts(members, {
      etcd: { kind: 'unknown', why: 'no leader' },
      etcdReady: { kind: 'notOk', why: 'no leader' },
    })

    expect(preflight(aBatch(members.slice(0, 1), 'start'), found)).toEqual([])
  })

  it('CKS-11 giving back a control node that came back needs no quorum', () => {
    const [first, ...others] = several(3, aControl, 'cp') as [Member, ...Member[]]
    const found = facts([first, ...others], { etcd: { kind: 'unknown', why: 'timed out' } })

    expect(preflight(aBatch([first], 'return'), found)).toEqual([])
  })

  it('CKS-13 a marked control node that is to be stopped needs quorum all the same', () => {
    const [first, ...others] = several(3, aControl, 'cp') as [Member, ...Member[]]
    const found = facts([first, ...others], {
      etcd: etcdOf(['cp-1', 'cp-2', aVoter('cp-3', { health: 'unhealthy' })]),
      etcdReady: OK,
      apiServers: { 'cp-2': OK },
    })

    expect(preflight(aBatch([first], 'roll', true), found)).toEqual([
      'etcd would keep 1 healthy voters of 3, needs 2 (cp-3 is unhealthy)',
    ])
  })
})
