import { describe, expect, it } from 'vitest'
import { type ClusterRecord, isLeftBehind, withoutHolder } from '../../src/core/record.js'
import { aRecord } from '../support/builders.js'

describe('Updating that somebody left behind', () => {
  it.each<[string, Partial<ClusterRecord>, string | null, boolean]>([
    ['a rollout runs and holds the Lease', { state: 'Updating', rollout: 'a' }, 'a', false],
    ['its Lease is free', { state: 'Updating', rollout: 'a' }, null, true],
    ['somebody else has the Lease now', { state: 'Updating', rollout: 'a' }, 'b', true],
    ['the cluster is at rest', { state: 'Running' }, null, false],
    ['the cluster is at rest, and a rollout is about to begin', { state: 'Alert' }, 'b', false],
    ['nothing is recorded', {}, null, false],
  ])('CKS-07 %s', (_, record, holder, expected) => {
    expect(isLeftBehind(aRecord(record), holder)).toBe(expected)
  })

  it('CKS-07 means Alert, with the capacity recounted; settings and last error are kept', () => {
    const before = { rollout: 'a', state: 'Running' as const, pools: {}, poolOrder: [], lastError: null }
    const left = aRecord({
      cluster: 'prod',
      identity: 'uid-1',
      state: 'Updating',
      rollout: 'a',
      poolOrder: ['worker'],
      capacity: { machines: 1, cpu: 1, memoryMiB: 1 },
      lastError: 'drain of w-1',
      before,
    })
    const capacity = { machines: 3, cpu: 12, memoryMiB: 1024 }

    expect(withoutHolder({ ...left, capacity }, null).capacity).toEqual(capacity)
    expect(withoutHolder(left, capacity)).toEqual({
      ...left,
      state: 'Alert',
      rollout: null,
      before: null,
      capacity,
    })
  })
})
