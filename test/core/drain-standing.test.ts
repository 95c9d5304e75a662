import { describe, expect, it } from 'vitest'
import { type Forced, podToForce, secondsToNextForce } from '../../src/core/drain/force.js'
import { type PodStanding, type Standing, sayWaits } from '../../src/core/drain/standing.js'
import { attachmentsLeft, sayAttachment } from '../../src/core/drain/volumes.js'
import { aPod } from '../support/builders.js'

function standing(name: string, is: Standing, ageSeconds: number | null = 100): PodStanding {
  return { pod: aPod({ name, uid: name, ageSeconds }), standing: is }
}

function heldBy(budget: string, has: number): Standing {
  return { kind: 'held', budget, why: `budget ${budget} needs 20 healthy, has ${has}` }
}

describe('what a drain waits for', () => {
  it('CKS-16 ANSWER-04, ANSWER-05 pods behind one budget are told together, with its latest arithmetic', () => {
    expect(
      sayWaits([
        standing('a', heldBy('shop/web', 19)),
        standing('x', heldBy('shop/db', 20)),
        standing('b', heldBy('shop/web', 20)),
      ]),
    ).toEqual([
      'budget shop/web needs 20 healthy, has 20; holds 2 pods: shop/a, shop/b',
      'budget shop/db needs 20 healthy, has 20; holds 1 pod: shop/x',
    ])
  })

  it('CKS-16 what a person has to mend comes first, then what only takes time', () => {
    expect(
      sayWaits([
        standing('a', { kind: 'queued' }),
        standing('b', { kind: 'asked' }),
        standing('c', { kind: 'due' }),
        standing('d', { kind: 'waits', why: 'is terminating' }),
        standing('e', { kind: 'later', why: 'too many requests' }),
        standing('f', heldBy('shop/web', 20)),
        standing('g', { kind: 'overruled', why: 'budgets shop/p and shop/q select the same pods' }),
        standing('h', { kind: 'failed', why: 'Could not evict pod shop/h: no.' }),
      ]),
    ).toEqual([
      'Could not evict pod shop/h: no.',
      'budgets shop/p and shop/q select the same pods; they hold 1 pod: shop/g',
      'budget shop/web needs 20 healthy, has 20; holds 1 pod: shop/f',
      'pod shop/e waits: too many requests',
      'pod shop/d is terminating',
      'pod shop/b was asked to go',
      'pod shop/c is to be asked to go',
      'pod shop/a waits for the pods before it',
    ])
  })

  it('CKS-16 many pods are one sentence, with the first ten names', () => {
    const many = Array.from({ length: 12 }, (_, n) =>
      standing(`p${n}`, { kind: 'waits', why: 'is terminating' }),
    )

    expect(sayWaits(many)).toEqual([
      '12 pods are terminating: shop/p0, shop/p1, shop/p2, shop/p3, shop/p4, shop/p5, shop/p6, shop/p7, shop/p8, shop/p9 and 2 more',
    ])
  })

  it('CKS-16 a volume is named with its VolumeAttachment', () => {
    expect(
      [
        { name: 'csi-1', nodeName: 'w-1', volume: 'pv-1' },
        { name: 'csi-2', nodeName: 'w-1', volume: null },
      ].map(sayAttachment),
    ).toEqual([
      'volume pv-1 is still attached (VolumeAttachment csi-1)',
      'volume without a name is still attached (VolumeAttachment csi-2)',
    ])
  })

  it('CKS-16 waits for the volumes of this node, but not for those that pods which stay use', () => {
    const attachments = [
      { name: 'gone-pods', nodeName: 'w-1', volume: 'pv-1' },
      { name: 'of-a-daemon', nodeName: 'w-1', volume: 'pv-2' },
      { name: 'elsewhere', nodeName: 'w-2', volume: 'pv-3' },
      { name: 'inline', nodeName: 'w-1', volume: null },
    ]

    const left = attachmentsLeft(attachments, 'w-1', new Set(['pv-2']))

    expect(left.map(({ name }) => name)).toEqual(['gone-pods', 'inline'])
  })
})

describe('forcing a pod past its budget', () => {
  const LIMITS = { drainOlderThanSeconds: 600, lastForcedOlderThanSeconds: 3_600, podOlderThanSeconds: 50 }

  function forced(left: readonly PodStanding[], drainSeconds = 600): string | undefined {
    return podToForce(left, drainSeconds, LIMITS)?.pod.name
  }

  const HELD = heldBy('shop/web', 20)

  it.each<[string, PodStanding[], number, string | undefined]>([
    ['the oldest one that a budget holds', [standing('a', HELD, 60), standing('b', HELD, 70)], 600, 'b'],
    ['none while the drain is young', [standing('a', HELD)], 599, undefined],
    ['none that is young itself', [standing('a', HELD, 49)], 600, undefined],
    ['none of an age that nobody knows', [standing('a', HELD, null)], 600, undefined],
    ['none that terminates', [standing('a', { kind: 'waits', why: 'is terminating' })], 600, undefined],
    [
      'none that two budgets hold: that is a mistake to mend',
      [standing('a', { kind: 'overruled', why: '' })],
      600,
      undefined,
    ],
    ['none whose eviction failed', [standing('a', { kind: 'failed', why: '' })], 600, undefined],
    ['none that has not been asked', [standing('a', { kind: 'due' })], 600, undefined],
  ])('CKS-16 takes %s', (_, left, drainSeconds, expected) => {
    expect(forced(left, drainSeconds)).toBe(expected)
  })

  const NOW = Date.parse('2026-01-01T12:00:00Z')

  it.each<[string, Forced | null, number]>([
    ['at once when none was ever forced', null, 0],
    ['when the last one is old enough', { at: '2026-01-01T11:00:00Z', pod: 'a/b', node: 'n' }, 0],
    ['after the rest of the time', { at: '2026-01-01T11:30:00Z', pod: 'a/b', node: 'n' }, 1_800],
    ['after all of it when nobody can tell', { at: 'yesterday', pod: 'a/b', node: 'n' }, 3_600],
    ['later still when a clock is ahead', { at: '2026-01-01T12:10:00Z', pod: 'a/b', node: 'n' }, 4_200],
  ])('CKS-16 the next one goes %s', (_, last, expected) => {
    expect(secondsToNextForce(last, NOW, LIMITS)).toBe(expected)
  })
})
