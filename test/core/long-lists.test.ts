import { describe, expect, it } from 'vitest'
import { sayNames, sayReasons, skippedIn } from '../../src/core/progress.js'

/** `w-1 is not ready`, `w-2 is not ready`, … */
function reasons(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `w-${index + 1} is not ready`)
}

describe('lists of which only the first are said', () => {
  it.each<[readonly string[], number | undefined, string]>([
    [[], undefined, ''],
    [reasons(1), undefined, 'w-1 is not ready'],
    [reasons(3), 3, 'w-1 is not ready; w-2 is not ready; w-3 is not ready'],
    [reasons(4), 3, 'w-1 is not ready; w-2 is not ready; w-3 is not ready; 1 more'],
    [reasons(4_900), 2, 'w-1 is not ready; w-2 is not ready; 4,898 more'],
    [reasons(10), undefined, reasons(10).join('; ')],
    [reasons(11), undefined, `${reasons(10).join('; ')}; 1 more`],
  ])('CKS-12 reasons, case %#', (why, most, said) => {
    expect(sayReasons(why, most)).toBe(said)
  })

  it.each<[readonly string[], number, number | undefined, string]>([
    [['a', 'b'], 5, undefined, 'a, b'],
    [['a', 'b', 'c'], 2, undefined, 'a, b and 1 more'],
    // The list itself holds only the first of so many.
    [['a', 'b'], 5, 40, 'a, b and 38 more'],
    [['a', 'b', 'c'], 2, 40, 'a, b and 38 more'],
    [['a', 'b'], 2, 2, 'a, b'],
    [['a', 'b', 'c', 'd', 'e'], 5, 6, 'a, b, c, d, e and 1 more'],
  ])('CKS-25 names, case %#', (names, most, of, said) => {
    expect(sayNames(names, most, of)).toBe(said)
  })

  it.each([
    ['as many as are listed, where nothing else is said', undefined, 1],
    ['as many as there are', 250, 250],
  ])('CKS-25 skipped nodes: %s', (_, skippedCount, count) => {
    const skipped = [{ name: 'w-1', pool: 'worker', why: 'its marks cannot be read' }]
    const view = { counts: [], skipped, notes: [], ...(skippedCount === undefined ? {} : { skippedCount }) }

    expect(skippedIn(view)).toBe(count)
  })
})
