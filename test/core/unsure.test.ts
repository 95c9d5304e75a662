import { describe, expect, it } from 'vitest'
import { isUnsure, type PreflightFacts } from '../../src/core/preflight.js'
import { aVoter, etcdOf } from '../support/builders.js'

const SURE: PreflightFacts = {
  members: [],
  outsiders: [],
  etcd: etcdOf(['m1', 'm2', 'm3']),
  etcdReady: { kind: 'ok' },
  apiServers: { 'c-1': { kind: 'ok' } },
}

describe('whether a part of the facts could not be seen', () => {
  it.each<[string, Partial<PreflightFacts>, boolean]>([
    ['all is well', {}, false],
    ['there is no etcd to ask', { etcd: null, etcdReady: null, apiServers: {} }, false],
    ['etcd cannot be asked', { etcd: { kind: 'unknown', why: 'no answer' } }, true],
    ['a member is unreachable', { etcd: etcdOf(['m1', aVoter('m2', { health: 'unknown' })]) }, true],
    [
      'a member does not tell how far it is',
      { etcd: etcdOf(['m1', aVoter('m2', { caughtUp: false, behind: null })]) },
      true,
    ],
    ['a member is unhealthy, and says so', { etcd: etcdOf([aVoter('m1', { health: 'unhealthy' })]) }, false],
    [
      'a member lags, and says so',
      { etcd: etcdOf([aVoter('m1', { caughtUp: false, behind: 9_000 })]) },
      false,
    ],
    ['a member is a learner', { etcd: etcdOf(['m1', aVoter('m2', { learner: true })]) }, false],
    ['/readyz/etcd does not answer', { etcdReady: { kind: 'unknown', why: 'no answer' } }, true],
    ['/readyz/etcd says no', { etcdReady: { kind: 'notOk', why: '500' } }, false],
    [
      'one of two API servers does not answer',
      { apiServers: { 'c-1': { kind: 'ok' }, 'c-2': { kind: 'unknown', why: 'no answer' } } },
      true,
    ],
    ['an API server says no', { apiServers: { 'c-1': { kind: 'notOk', why: '500' } } }, false],
  ])('CKS-13 %s', (_, overrides, unsure) => {
    expect(isUnsure({ ...SURE, ...overrides })).toBe(unsure)
  })
})
