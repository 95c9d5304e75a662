import { describe, expect, it } from 'vitest'
import { offeringsToTry } from '../../src/core/offerings.js'
import { aBatchNode, aWorker, someSettings } from '../support/builders.js'

describe('which offerings a machine is started with, in order', () => {
  it.each<[string, readonly string[] | null, (string | null)[]]>([
    ['what it has, where none is recorded', null, [null]],
    ['what it has, where the list is empty', [], [null]],
    ['the one that is wanted', ['large'], ['large']],
    ['the list in order of preference', ['large', 'huge'], ['large', 'huge']],
    ['its own first, when that is in the list', ['large', 'small', 'huge'], ['small', 'large', 'huge']],
    ['its own alone', ['small'], ['small']],
  ])('CKS-01 %s', (_, offerings, expected) => {
    const node = aBatchNode(aWorker('w-1'), 'roll', { wants: someSettings({ offerings }) })

    expect(offeringsToTry(node)).toEqual(expected)
  })
})
