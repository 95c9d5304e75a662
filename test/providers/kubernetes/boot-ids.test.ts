import { describe, expect, it } from 'vitest'
import { BootIds } from '../../../src/providers/kubernetes/boot-ids.js'

const UUID = '0d4a4861-94e6-4a44-a69f-78d4ca94b717'

describe('a boot id proves something', () => {
  it('when it is a node’s own', () => {
    expect(new BootIds().proven('n1', UUID)).toBe(UUID)
  })

  it.each([
    ['empty', ''],
    ['zeros', '00000000-0000-0000-0000-000000000000'],
    ['masked', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'],
    ['masked with its dashes kept', 'xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx'],
    ['a word', 'redacted'],
    ['a word in brackets', '<REDACTED>'],
    ['dashes', '----'],
  ])('but not when it is %s', (_, bootId) => {
    expect(new BootIds().proven('n1', bootId)).toBeNull()
  })

  it('but not when two nodes of the list have it, also for a node read alone later', () => {
    const bootIds = new BootIds()
    bootIds.listed([
      { name: 'n1', bootId: UUID },
      { name: 'n2', bootId: UUID },
      { name: 'n3', bootId: 'b3' },
    ])

    expect(bootIds.proven('n1', UUID)).toBeNull()
    expect(bootIds.proven('n2', UUID)).toBeNull()
    expect(bootIds.proven('n3', 'b3')).toBe('b3')
  })

  it('but not when another node of the list had it: a node that joins with its host’s id', () => {
    const bootIds = new BootIds()
    bootIds.listed([{ name: 'n1', bootId: UUID }])

    expect(bootIds.proven('new', UUID)).toBeNull()
  })

  it('again after the other node is gone', () => {
    const bootIds = new BootIds()
    bootIds.listed([
      { name: 'n1', bootId: UUID },
      { name: 'n2', bootId: UUID },
    ])
    bootIds.listed([{ name: 'n1', bootId: UUID }])

    expect(bootIds.proven('n1', UUID)).toBe(UUID)
  })

  it.each([
    ['another node rebooted', (bootIds: BootIds) => bootIds.seen('n2', 'b2')],
    ['another node left', (bootIds: BootIds) => bootIds.gone('n2')],
  ])('again after %s, one change at a time', (_, change) => {
    const bootIds = new BootIds()
    bootIds.listed([
      { name: 'n1', bootId: UUID },
      { name: 'n2', bootId: UUID },
    ])

    change(bootIds)

    expect(bootIds.proven('n1', UUID)).toBe(UUID)
  })

  it('no longer when a third node joins with it, and one of the three leaves', () => {
    const bootIds = new BootIds()
    bootIds.listed([{ name: 'n1', bootId: UUID }])
    bootIds.seen('n2', UUID)
    bootIds.seen('n3', UUID)
    bootIds.seen('n3', UUID)

    bootIds.gone('n2')

    expect(bootIds.proven('n1', UUID)).toBeNull()
    expect(bootIds.proven('n3', UUID)).toBeNull()
  })
})
