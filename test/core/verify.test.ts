import { describe, expect, it } from 'vitest'
import type { Machine, NodeRecord } from '../../src/core/model.js'
import { type Expected, isAnotherMachine, type VerifyFacts, whyNotBack } from '../../src/core/verify.js'
import { aMachine, aNode, aVoter, etcdOf, LARGE, someSettings } from '../support/builders.js'

const WORKER: Expected = {
  bootId: 'b1',
  settings: LARGE,
  needsNode: true,
  needsMember: false,
  needsApiServer: false,
  name: 'n',
}
const CONTROL: Expected = { ...WORKER, needsMember: true, needsApiServer: true }
const ETCD: Expected = { ...WORKER, bootId: null, needsNode: false, needsMember: true }
const BACK: VerifyFacts = {
  machine: aMachine('n', { offering: 'large' }),
  node: aNode('n', { bootId: 'b2' }),
  etcd: etcdOf(['n', 'other']),
  apiServer: { kind: 'ok' },
}
const machine = (overrides: Partial<Machine>) => ({
  machine: aMachine('n', { offering: 'large', ...overrides }),
})
const node = (overrides: Partial<NodeRecord>) => ({ node: aNode('n', { bootId: 'b2', ...overrides }) })

describe('why a node is not back', () => {
  it.each<[string, Expected, Partial<VerifyFacts>, string[]]>([
    ['CKS-18 it is back', WORKER, {}, []],
    ['CKS-18 a control node is back', CONTROL, {}, []],
    ['CKS-18 an external etcd machine is back', ETCD, { node: null, apiServer: null }, []],
    ['CKS-18 the machine is gone', WORKER, { machine: null }, ['its machine is not at the provider']],
    ['CKS-18 the machine is off', WORKER, machine({ power: 'stopped' }), ['its machine is stopped']],
    ['CKS-18 the machine starts', WORKER, machine({ power: 'starting' }), ['its machine is starting']],
    ['CKS-18 the power is unknown', WORKER, machine({ power: 'unknown' }), ['its machine is unknown']],
    [
      'CKS-18 the machine still differs',
      WORKER,
      machine({ offering: 'small' }),
      ['its machine still differs: offering small → large'],
    ],
    [
      'CKS-18 the machine differs in several ways',
      { ...WORKER, settings: someSettings({ rootDiskGiB: 80, affinityGroups: ['near'] }) },
      {},
      [
        'its machine still differs: root disk 50 → 80 GiB',
        'its machine still differs: affinity groups none → near',
      ],
    ],
    ['CKS-18 the Node has not joined', WORKER, { node: null }, ['its Node has not joined yet']],
    [
      'B10 b Ready is left over from before the stop',
      WORKER,
      node({ bootId: 'b1', ready: 'ready' }),
      ['its boot id is the one from before the stop'],
    ],
    ['B10 a a new boot id is enough, though it was never seen not ready', WORKER, node({ bootId: 'b2' }), []],
    ['CKS-18 a new boot id, not ready', WORKER, node({ ready: 'notReady' }), ['it is not ready']],
    [
      'CKS-18 a new boot id, readiness unknown',
      WORKER,
      node({ ready: 'unknown' }),
      ['its readiness is unknown'],
    ],
    ['B10 an unknown boot id is not a new one', WORKER, node({ bootId: null }), ['its boot id is unknown']],
    [
      'B10 the machine was off before: any boot id is new',
      { ...WORKER, bootId: null },
      node({ bootId: 'b1' }),
      [],
    ],
    [
      'B10 the machine was off before, and there is no boot id',
      { ...WORKER, bootId: null },
      node({ bootId: null }),
      ['its boot id is unknown'],
    ],
    [
      'CKS-18 the member is missing',
      CONTROL,
      { etcd: etcdOf(['other']) },
      ['its etcd member is missing from the member list'],
    ],
    [
      'CKS-18 the member is a learner',
      CONTROL,
      { etcd: etcdOf([aVoter('n', { learner: true })]) },
      ['its etcd member is a learner'],
    ],
    [
      'CKS-18 the member is unhealthy',
      ETCD,
      { etcd: etcdOf([aVoter('n', { health: 'unhealthy' })]) },
      ['its etcd member is unhealthy'],
    ],
    [
      'CKS-18 the member lags',
      ETCD,
      { etcd: etcdOf([aVoter('n', { caughtUp: false, behind: 5_000 })]) },
      ['its etcd member lags 5,000 entries behind'],
    ],
    [
      'CKS-18 etcd does not answer',
      CONTROL,
      { etcd: { kind: 'unknown', why: 'timed out' } },
      ['etcd cannot be asked: timed out'],
    ],
    ['CKS-18 etcd was not asked', CONTROL, { etcd: null }, ['etcd cannot be asked']],
    [
      'CKS-18 another member that is down is not this node’s',
      CONTROL,
      { etcd: etcdOf(['n', aVoter('other', { health: 'unhealthy' })]) },
      [],
    ],
    [
      'CKS-18 the API server is not ready',
      CONTROL,
      { apiServer: { kind: 'notOk', why: '500' } },
      ['its API server is not ready: 500'],
    ],
    [
      'CKS-18 the API server does not answer',
      CONTROL,
      { apiServer: { kind: 'unknown', why: 'refused' } },
      ['its API server is not ready: refused'],
    ],
    ['CKS-18 the API server was not asked', CONTROL, { apiServer: null }, ['its API server is not ready']],
    [
      'CKS-18 a worker needs neither etcd nor an API server',
      WORKER,
      { etcd: null, apiServer: { kind: 'notOk', why: '500' } },
      [],
    ],
    [
      'CKS-18 everything that is missing is named',
      CONTROL,
      { ...machine({ power: 'stopped' }), node: null, etcd: null, apiServer: null },
      [
        'its machine is stopped',
        'its Node has not joined yet',
        'etcd cannot be asked',
        'its API server is not ready',
      ],
    ],
  ])('%s', (_, expected, overrides, why) => {
    expect(whyNotBack(expected, { ...BACK, ...overrides })).toEqual(why)
  })
})

describe('is it another machine?', () => {
  it.each<[string, string | null, string | null, boolean]>([
    ['the same one', 'azure://a/1', 'azure://a/1', false],
    ['the same one in another letter case', 'azure://A/1', 'azure://a/1', false],
    ['another one', 'azure://a/2', 'azure://a/1', true],
    ['the new Node has no providerID yet', null, 'azure://a/1', false],
    ['the provider has no providerIDs', 'k3s://n', null, false],
  ])('B11 b %s', (_, ofNode, ofBatch, expected) => {
    expect(isAnotherMachine(aNode('n', { providerId: ofNode }), { providerId: ofBatch })).toBe(expected)
  })
})
