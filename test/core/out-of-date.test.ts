import { describe, expect, it } from 'vitest'
import type { Machine, PoolSettings } from '../../src/core/model.js'
import { comparableGroups, differences, isOutOfDate, sayDifference } from '../../src/core/out-of-date.js'
import { aGroup, aMachine, aWorker, someSettings } from '../support/builders.js'

describe('how a machine differs from the settings of its pool', () => {
  const spread: Partial<Machine> = { affinityGroups: [aGroup('spread'), aGroup('near')] }

  it.each<[string, Partial<Machine>, Partial<PoolSettings>, string[]]>([
    ['CKS-10 nothing is recorded', {}, {}, []],
    ['CKS-10 another offering', {}, { offerings: ['large'] }, ['offering small → large']],
    ['CKS-10 the offering wanted', {}, { offerings: ['small'] }, []],
    ['CKS-01 any offering of a list is up to date', {}, { offerings: ['large', 'small'] }, []],
    [
      'CKS-10 none of a list of offerings',
      {},
      { offerings: ['large', 'huge'] },
      ['offering small → large or huge'],
    ],
    ['CKS-10 a smaller root disk', {}, { rootDiskGiB: 51 }, ['root disk 50 → 51 GiB']],
    ['CKS-10 a root disk of the size wanted', {}, { rootDiskGiB: 50 }, []],
    ['CKS-10 a larger root disk is up to date', {}, { rootDiskGiB: 49 }, []],
    ['CKS-10 a root disk that cannot be seen', { rootDiskGiB: null }, { rootDiskGiB: 80 }, []],
    [
      'CKS-10 a group is missing',
      spread,
      { affinityGroups: ['spread', 'near', 'far'] },
      ['affinity groups near, spread → spread, near, far'],
    ],
    [
      'CKS-10 a group too many',
      spread,
      { affinityGroups: ['near'] },
      ['affinity groups near, spread → near'],
    ],
    ['CKS-10 no group at all', {}, { affinityGroups: ['near'] }, ['affinity groups none → near']],
    ['CKS-10 the same groups in another order', spread, { affinityGroups: ['near', 'spread'] }, []],
    ['CKS-05 no groups recorded: the machine keeps its own', spread, { affinityGroups: [] }, []],
    [
      'CKS-05 an explicit dedication is not compared',
      { affinityGroups: [aGroup('near'), aGroup('dedicated', true)] },
      { affinityGroups: ['near'] },
      [],
    ],
    [
      'CKS-10 everything at once, in the order of the change',
      {},
      { offerings: ['large'], rootDiskGiB: 80, affinityGroups: ['near'] },
      ['offering small → large', 'root disk 50 → 80 GiB', 'affinity groups none → near'],
    ],
  ])('%s', (_, machine, settings, expected) => {
    const found = differences(aMachine('w-1', machine), someSettings(settings))

    expect(found.map(sayDifference)).toEqual(expected)
  })

  it.each<[string, PoolSettings, boolean]>([
    ['differs', someSettings({ offerings: ['large'] }), true],
    ['does not differ', someSettings({ offerings: ['small'] }), false],
  ])('CKS-10 a member is out of date when its machine %s', (_, settings, expected) => {
    expect(isOutOfDate(aWorker('w-1'), settings)).toBe(expected)
  })

  it('CKS-05 only groups that are no dedication can be compared and changed', () => {
    const machine = aMachine('w-1', { affinityGroups: [aGroup('b'), aGroup('d', true), aGroup('a')] })

    expect(comparableGroups(machine)).toEqual(['a', 'b'])
  })
})
