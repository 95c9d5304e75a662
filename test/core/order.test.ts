import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compareNames, inRollOrder } from '../../src/core/order.js'
import { aControl, anEtcd, aWorker, namesOf } from '../support/builders.js'

describe('names in the order people count', () => {
  it.each<[string, string[]]>([
    ['numbers by value', ['w-1', 'w-2', 'w-10', 'w-11', 'w-100']],
    ['words by letter', ['alpha-2', 'beta-1']],
    ['the shorter one first', ['w', 'w-1', 'w-1-a']],
    ['numbers in several places', ['a1-b9', 'a1-b10', 'a2-b1']],
    ['leading zeros make no tie', ['w-01', 'w-1', 'w-02']],
  ])('CKS-08 %s', (_, expected) => {
    expect([...expected].reverse().sort(compareNames)).toEqual(expected)
  })

  it('CKS-08 the order is one: never a tie between two names, never a circle', () => {
    const name = fc.stringMatching(/^[a-c0-2-]{1,6}$/)
    fc.assert(
      fc.property(name, name, name, (a, b, c) => {
        expect(Math.sign(compareNames(a, b))).toBe(-Math.sign(compareNames(b, a)) + 0)
        expect(compareNames(a, b) === 0).toBe(a === b)
        const [first, second, third] = [a, b, c].sort(compareNames) as [string, string, string]
        expect(compareNames(first, third)).toBeLessThanOrEqual(0)
        expect(compareNames(first, second)).toBeLessThanOrEqual(0)
        expect(compareNames(second, third)).toBeLessThanOrEqual(0)
      }),
      { numRuns: 1000 },
    )
  })
})

describe('the order of a rollout', () => {
  it('CKS-08 etcd, control, then worker pools in the order of the spec, by name inside a pool', () => {
    const members = [
      aWorker('w-10', { pool: 'b' }),
      aWorker('w-1', { pool: 'a' }),
      aControl('cp-2'),
      aWorker('w-9', { pool: 'b' }),
      anEtcd('e-1'),
      aControl('cp-1'),
    ]

    expect(namesOf(inRollOrder(members, ['b', 'a', 'control', 'etcd'], []))).toEqual([
      'e-1',
      'cp-1',
      'cp-2',
      'w-9',
      'w-10',
      'w-1',
    ])
  })

  it('CKS-08 does not depend on the order in which the provider lists machines', () => {
    const members = [
      ...['w-1', 'w-2', 'w-10'].map((name) => aWorker(name)),
      ...['cp-1', 'cp-2'].map((name) => aControl(name)),
      anEtcd('e-1'),
    ]
    const expected = namesOf(inRollOrder(members, ['worker'], []))

    fc.assert(
      fc.property(fc.shuffledSubarray(members, { minLength: members.length }), (shuffled) => {
        expect(namesOf(inRollOrder(shuffled, ['worker'], []))).toEqual(expected)
      }),
    )
  })
})
