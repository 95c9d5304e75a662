import { describe, expect, it } from 'vitest'
import type { Health, Member } from '../../src/core/model.js'
import { type PreflightFacts, quorumHoldups } from '../../src/core/preflight.js'
import {
  aBatch,
  aBatchNode,
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
const [one, _two, _three] = [aWorker('w-1'), aWorker('w-2'), aWorker('w-3')]

describe('before a control or etcd node is stopped', () => {
  const controls = several(3, aControl, 'cp')
  const etcds = several(3, anEtcd, 'e')
  const [cp1] = controls as [Member]
  const [e1] = etcds as [Member]
  const stackedWell: Partial<PreflightFacts> = {
    etcd: etcdOf(['cp-1', 'cp-2', 'cp-3']),
    etcdReady: OK,
    apiServers: { 'cp-2': OK, 'cp-3': OK },
  }
  const externalWell: Partial<PreflightFacts> = { ...stackedWell, etcd: etcdOf(['e-1', 'e-2', 'e-3']) }
  const NOT_READY: Health = { kind: 'notOk', why: '503' }
  const SILENT: Health = { kind: 'unknown', why: 'timed out' }

  it.each<[string, Member, Member[], Partial<PreflightFacts>, string[]]>([
    ['CKS-13 stacked, all well', cp1, controls, stackedWell, []],
    [
      'B07 a stacked, another member is down',
      cp1,
      controls,
      { ...stackedWell, etcd: etcdOf(['cp-1', 'cp-2', aVoter('cp-3', { health: 'unknown' })]) },
      ['etcd would keep 1 healthy voters of 3, needs 2 (cp-3 is unreachable)'],
    ],
    [
      'B07 c stacked, the member of the node itself is down',
      cp1,
      controls,
      { ...stackedWell, etcd: etcdOf([aVoter('cp-1', { health: 'unknown' }), 'cp-2', 'cp-3']) },
      [],
    ],
    [
      'CKS-13 stacked, a voter lags',
      cp1,
      controls,
      { ...stackedWell, etcd: etcdOf(['cp-1', 'cp-2', aVoter('cp-3', { caughtUp: false, behind: 5_000 })]) },
      ['etcd would keep 1 healthy voters of 3, needs 2 (cp-3 lags 5,000 entries behind)'],
    ],
    [
      'CKS-13 stacked, etcd cannot be asked',
      cp1,
      controls,
      { ...stackedWell, etcd: { kind: 'unknown', why: 'timed out' } },
      ['etcd membership is unknown: timed out'],
    ],
    [
      'CKS-13 stacked, nobody asked etcd',
      cp1,
      controls,
      { ...stackedWell, etcd: null },
      ['etcd membership was not asked for'],
    ],
    [
      'CKS-13 quorum alone is not enough: /readyz/etcd says no',
      cp1,
      controls,
      { ...stackedWell, etcdReady: NOT_READY },
      ['etcd readiness (/readyz/etcd) is notOk: 503'],
    ],
    [
      'CKS-13 /readyz/etcd is a further condition, never a substitute',
      cp1,
      controls,
      { ...stackedWell, etcd: etcdOf(['cp-1', 'cp-2', aVoter('cp-3', { learner: true })]) },
      ['etcd would keep 1 healthy voters of 3, needs 2 (cp-3 is a learner)'],
    ],
    [
      'CKS-13 /readyz/etcd does not answer',
      cp1,
      controls,
      { ...stackedWell, etcdReady: SILENT },
      ['etcd readiness (/readyz/etcd) is unknown: timed out'],
    ],
    [
      'CKS-13 stacked, no other API server answers',
      cp1,
      controls,
      { ...stackedWell, apiServers: { 'cp-1': OK, 'cp-2': NOT_READY, 'cp-3': SILENT } },
      ['no other control node serves the API (cp-2: 503; cp-3: timed out)'],
    ],
    ['CKS-13 external etcd, a control node, all well', cp1, [...controls, ...etcds], externalWell, []],
    [
      'CKS-13 external etcd: the control node waits for another API server, not for a quorum it is no part of',
      cp1,
      [...controls, ...etcds],
      {
        ...externalWell,
        etcd: etcdOf(['e-1', 'e-2', aVoter('e-3', { health: 'unhealthy' })]),
        apiServers: { 'cp-2': NOT_READY, 'cp-3': OK },
      },
      [],
    ],
    [
      'CKS-13 external etcd, no other control node serves the API',
      cp1,
      [...controls, ...etcds],
      { ...externalWell, apiServers: {} },
      ['no other control node serves the API'],
    ],
    ['CKS-13 an external etcd machine, all well', e1, [...controls, ...etcds], externalWell, []],
    [
      'CKS-13 an external etcd machine, another member is down',
      e1,
      [...controls, ...etcds],
      { ...externalWell, etcd: etcdOf(['e-1', 'e-2', aVoter('e-3', { health: 'unhealthy' })]) },
      ['etcd would keep 1 healthy voters of 3, needs 2 (e-3 is unhealthy)'],
    ],
    [
      'CKS-13 an external etcd machine needs no other API server',
      e1,
      [...controls, ...etcds],
      { ...externalWell, apiServers: {} },
      [],
    ],
    [
      'CKS-00 a control node in no pool is an expected voter',
      cp1,
      controls.slice(0, 2),
      {
        etcd: etcdOf(['cp-1', 'cp-2', aVoter('o-1', { health: 'unhealthy' })]),
        etcdReady: OK,
        apiServers: { 'cp-2': OK },
        outsiders: [aNode('o-1', { controlPlane: true })],
      },
      ['etcd would keep 1 healthy voters of 3, needs 2 (o-1 is unhealthy)'],
    ],
  ])('%s', (_, rolled, members, found, expected) => {
    expect(preflight(aBatch([rolled]), facts(members, found))).toEqual(expected)
  })

  it.each<[string, Member, Partial<PreflightFacts>, string[]]>([
    [
      'another one is cordoned by somebody',
      aControl('cp-3', { node: { unschedulable: true } }),
      stackedWell,
      ['control node cp-3 is cordoned; uncordon it when whoever cordoned it is done'],
    ],
    [
      'another tool takes another one down',
      aControl('cp-3', { node: { busyWith: 'Karpenter (taint karpenter.sh/disrupted)' } }),
      stackedWell,
      ['control node cp-3 is being taken down by Karpenter (taint karpenter.sh/disrupted); wait for its end'],
    ],
    [
      'one of no pool is cordoned',
      aControl('cp-3'),
      { ...stackedWell, outsiders: [aNode('o-1', { controlPlane: true, unschedulable: true })] },
      [
        'etcd would keep 2 healthy voters of 4, needs 3 (o-1 is missing from the member list)',
        'control node o-1 is cordoned; uncordon it when whoever cordoned it is done',
      ],
    ],
    [
      'one of ours is cordoned by us: recovery’s',
      aControl('cp-3', { node: { unschedulable: true, marks: CORDONED_BY_US } }),
      stackedWell,
      [],
    ],
  ])('CKS-12 the quorum may be gone in a minute: %s', (_, third, found, expected) => {
    const [first, second] = controls as [Member, Member]

    expect(quorumHoldups([aBatchNode(first)], facts([first, second, third], found))).toEqual(expected)
  })

  it('CKS-12 the one that goes may be cordoned itself', () => {
    const cordoned = aControl('cp-1', { node: { unschedulable: true } })
    const [, ...others] = controls

    expect(quorumHoldups([aBatchNode(cordoned)], facts([cordoned, ...others], stackedWell))).toEqual([])
  })

  it('B07 b all of etcd is healthy, but one of its members has no Node: refused, and named', () => {
    const found = facts(controls.slice(0, 2), stackedWell)

    expect(preflight(aBatch([cp1]), found).join(' ')).toContain('cp-3')
  })

  it('CKS-13 readiness that nobody asked for is not readiness', () => {
    const found = facts(controls, { ...stackedWell, etcdReady: null })

    expect(preflight(aBatch([cp1]), found).join(' ')).toContain('/readyz/etcd')
  })

  it('CKS-13 the look right before the stop asks for the same, for the node alone', () => {
    const found = facts(controls, {
      ...stackedWell,
      etcd: etcdOf(['cp-1', 'cp-2', aVoter('cp-3', { health: 'unknown' })]),
      etcdReady: NOT_READY,
      apiServers: {},
    })

    expect(quorumHoldups([aBatchNode(cp1)], found)).toEqual([
      'etcd would keep 1 healthy voters of 3, needs 2 (cp-3 is unreachable)',
      'etcd readiness (/readyz/etcd) is notOk: 503',
      'no other control node serves the API',
    ])
  })

  it('CKS-13 workers need none of it', () => {
    expect(quorumHoldups([aBatchNode(one)], facts([one, ...controls]))).toEqual([])
  })
})
