import { describe, expect, it } from 'vitest'
import { isUnavailable, LARGEST_BATCH, takeWithinBudget, unavailableClamp } from '../../src/core/budget.js'
import type { MaxUnavailable, Member } from '../../src/core/model.js'
import { aWorker, CORDONED_BY_US, namesOf, several } from '../support/builders.js'

describe('how many workers may be unavailable', () => {
  it.each<[string, MaxUnavailable, number, number]>([
    ['the default', { count: 1 }, 3, 1],
    ['a number below the workers', { count: 2 }, 5, 2],
    ['one less than the workers', { count: 4 }, 5, 4],
    ['as many as there are workers', { count: 5 }, 5, 4],
    ['more than there are workers', { count: 10 }, 5, 4],
    ['a single worker still goes', { count: 3 }, 1, 1],
    ['one of two', { count: 2 }, 2, 1],
    ['a pool that is empty', { count: 1 }, 0, 1],
    ['a percentage is rounded down', { percent: 25 }, 7, 1],
    ['a percentage just below a whole number is rounded down', { percent: 33 }, 9, 2],
    ['a percentage that is a whole number', { percent: 25 }, 8, 2],
    ['a percentage below one node is one', { percent: 1 }, 60, 1],
    ['all of them by percentage', { percent: 100 }, 4, 3],
    ['a half of an odd number', { percent: 50 }, 5, 2],
    ['no rounding error: 29% of 100 is 29', { percent: 29 }, 100, 29],
    ['no rounding error: 7% of 100 is 7', { percent: 7 }, 100, 7],
  ])('CKS-09 %s', (_, maxUnavailable, workers, expected) => {
    expect(unavailableClamp(maxUnavailable, workers).count).toBe(expected)
  })

  it('CKS-09 pools of 1 to 60 workers: asked for 1 to 60, never more than all but one, never less than one', () => {
    const wrong: string[] = []
    for (let workers = 1; workers <= 60; workers++) {
      for (let asked = 1; asked <= LARGEST_BATCH; asked++) {
        const most = workers === 1 ? 1 : workers - 1
        const expected = Math.min(asked, most)
        const { count, clamped } = unavailableClamp({ count: asked }, workers)
        if (count !== expected || (clamped === null) !== (asked === expected))
          wrong.push(`${asked} of ${workers}: ${count} (${clamped})`)
      }
    }

    expect(wrong).toEqual([])
  })

  it.each<[string, MaxUnavailable, number, string | null]>([
    ['nothing when the number asked for is in force', { count: 2 }, 5, null],
    ['the number asked for and the one in force', { count: 9 }, 5, 'maxUnavailable 9 becomes 4 of 5 workers'],
    ['the percentage and its number', { percent: 100 }, 5, 'maxUnavailable 100% (5) becomes 4 of 5 workers'],
    ['a percentage that is raised', { percent: 10 }, 5, 'maxUnavailable 10% (0) becomes 1 of 5 workers'],
  ])('CKS-09 a clamp says %s', (_, maxUnavailable, workers, expected) => {
    expect(unavailableClamp(maxUnavailable, workers).clamped).toBe(expected)
  })
})

describe('who is unavailable', () => {
  it.each<[string, Member, boolean]>([
    ['a healthy worker is not', aWorker('w'), false],
    ['a stopped machine', aWorker('w', { machine: { power: 'stopped' } }), true],
    ['a machine on its way up', aWorker('w', { machine: { power: 'starting' } }), true],
    ['a machine of unknown power', aWorker('w', { machine: { power: 'unknown' } }), true],
    ['a node that is not ready', aWorker('w', { node: { ready: 'notReady' } }), true],
    ['a node of unknown readiness', aWorker('w', { node: { ready: 'unknown' } }), true],
    ['a node that somebody has cordoned', aWorker('w', { node: { unschedulable: true } }), true],
    ['a machine without a Node', aWorker('w', { node: null }), true],
    [
      'a mark alone, on a node that takes pods, is not',
      aWorker('w', { node: { marks: CORDONED_BY_US } }),
      false,
    ],
  ])('CKS-09 %s', (_, member, expected) => {
    expect(isUnavailable(member)).toBe(expected)
  })
})

describe('who may go down together', () => {
  const up = several(6, aWorker, 'w')
  const down = (name: string) => aWorker(name, { node: { unschedulable: true } })

  it.each<[string, Member[], Member[], number, string[]]>([
    ['as many as the clamp', up, [], 2, ['w-1', 'w-2']],
    ['fewer candidates than the clamp', up.slice(0, 1), [], 3, ['w-1']],
    ['nobody to take', [], [], 3, []],
    ['one already unavailable leaves room for one', up, [down('x-1')], 2, ['w-1']],
    ['with the clamp used up one may always go', up, [down('x-1'), down('x-2')], 2, ['w-1']],
    ['with more than the clamp down one may always go', up, [down('x-1'), down('x-2')], 1, ['w-1']],
    ['a candidate that is down already costs nothing', [down('x-1'), ...up], [], 2, ['x-1', 'w-1']],
    [
      'candidates that are all down already go together, up to the clamp',
      [down('x-1'), down('x-2')],
      [],
      2,
      ['x-1', 'x-2'],
    ],
    [
      'candidates that are all down, more than the clamp, go one at a time',
      [down('x-1'), down('x-2'), down('x-3')],
      [],
      2,
      ['x-1'],
    ],
  ])('CKS-09 %s', (_, candidates, others, clamp, expected) => {
    const pool = [...new Set([...candidates, ...up, ...others])]

    expect(namesOf(takeWithinBudget(candidates, pool, clamp))).toEqual(expected)
  })

  it('CKS-09 a batch holds at most 50 nodes', () => {
    const many = several(200, aWorker, 'w')

    expect(takeWithinBudget(many, many, 120)).toEqual(many.slice(0, 50))
  })
})
