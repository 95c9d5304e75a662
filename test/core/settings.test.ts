import { describe, expect, it } from 'vitest'
import {
  type Machine,
  type Member,
  NO_SETTINGS,
  type PoolSettings,
  type PoolSpec,
} from '../../src/core/model.js'
import type { StoredPool } from '../../src/core/record.js'
import { effectivePools, poolsInForce, poolsToStore, settingsOfToday } from '../../src/core/settings.js'
import { aControl, aGroup, aMachine, aRecord, aWorker, someSettings } from '../support/builders.js'

function asked(name: string, settings: Partial<PoolSettings> = {}, more: Partial<PoolSpec> = {}): PoolSpec {
  return {
    name,
    type: 'worker',
    select: { kind: 'labels', labels: { pool: name } },
    asked: someSettings(settings),
    maxUnavailable: { count: 1 },
    ...more,
  }
}

function stored(name: string, settings: Partial<PoolSettings> = {}): StoredPool {
  return {
    type: 'worker',
    select: { kind: 'labels', labels: { pool: name } },
    settings: someSettings(settings),
  }
}

function settingsIn(
  pools: readonly PoolSpec[],
  record: Parameters<typeof effectivePools>[1],
  members: Member[],
) {
  return Object.fromEntries(effectivePools(pools, record, members).map((pool) => [pool.name, pool.settings]))
}

describe('what the machines of a pool have today', () => {
  it.each<[string, Partial<Machine>[], PoolSettings]>([
    [
      'all alike: everything is recorded',
      [{ affinityGroups: [aGroup('b'), aGroup('a')] }, { affinityGroups: [aGroup('a'), aGroup('b')] }],
      { offerings: ['small'], rootDiskGiB: 50, affinityGroups: ['a', 'b'] },
    ],
    [
      'two offerings: no offering is recorded',
      [{ offering: 'small' }, { offering: 'large' }],
      { offerings: null, rootDiskGiB: 50, affinityGroups: [] },
    ],
    [
      'two disk sizes: no disk size is recorded',
      [{ rootDiskGiB: 50 }, { rootDiskGiB: 60 }],
      { offerings: ['small'], rootDiskGiB: null, affinityGroups: [] },
    ],
    [
      'one disk size cannot be seen: none is recorded',
      [{ rootDiskGiB: 50 }, { rootDiskGiB: null }],
      { offerings: ['small'], rootDiskGiB: null, affinityGroups: [] },
    ],
    [
      'one machine has a group more: no groups are recorded',
      [{ affinityGroups: [aGroup('a')] }, { affinityGroups: [aGroup('a'), aGroup('b')] }],
      { offerings: ['small'], rootDiskGiB: 50, affinityGroups: null },
    ],
    ['no machines: nothing is recorded', [], NO_SETTINGS],
  ])('CKS-03 %s', (_, machines, expected) => {
    expect(settingsOfToday(machines.map((machine, index) => aMachine(`w-${index}`, machine)))).toEqual(
      expected,
    )
  })

  it('CKS-05 explicit dedication is not recorded, and does not make machines different', () => {
    const machines = [
      aMachine('w-1', { affinityGroups: [aGroup('spread'), aGroup('dedicated', true)] }),
      aMachine('w-2', { affinityGroups: [aGroup('spread')] }),
    ]

    expect(settingsOfToday(machines).affinityGroups).toEqual(['spread'])
  })
})

describe('settings in force', () => {
  const workers = [aWorker('w-1'), aWorker('w-2')]
  const today = { offerings: ['small'], rootDiskGiB: 50, affinityGroups: [] }

  it('CKS-03 the first request for one property leaves the others as they are today', () => {
    expect(settingsIn([asked('worker', { rootDiskGiB: 80 })], aRecord(), workers)).toEqual({
      worker: { ...today, rootDiskGiB: 80 },
    })
  })

  it('CKS-03 the first request records every pool it knows, also one of which it asks nothing', () => {
    const pools = [asked('control', {}, { type: 'control' }), asked('worker', { offerings: ['large'] })]
    const members = [...workers, aControl('cp-1', { machine: { offering: 'medium', rootDiskGiB: 30 } })]

    expect(settingsIn(pools, aRecord(), members)).toEqual({
      control: { offerings: ['medium'], rootDiskGiB: 30, affinityGroups: [] },
      worker: { ...today, offerings: ['large'] },
    })
  })

  it('CKS-03 what a pool has today is not recorded again once it has settings', () => {
    const record = aRecord({
      pools: { worker: stored('worker', { offerings: ['medium'] }) },
      poolOrder: ['worker'],
    })

    expect(settingsIn([asked('worker', { rootDiskGiB: 80 })], record, workers)).toEqual({
      worker: { offerings: ['medium'], rootDiskGiB: 80, affinityGroups: null },
    })
  })

  it('CKS-01 what is asked for replaces what is stored, property by property', () => {
    const record = aRecord({
      pools: {
        worker: stored('worker', { offerings: ['medium'], rootDiskGiB: 60, affinityGroups: ['spread'] }),
      },
      poolOrder: ['worker'],
    })
    const spec = asked('worker', { offerings: ['large', 'huge'] }, { maxUnavailable: { percent: 20 } })

    expect(effectivePools([spec], record, workers)).toEqual([
      {
        name: 'worker',
        type: 'worker',
        select: spec.select,
        asked: someSettings({ offerings: ['large', 'huge'] }),
        previous: { offerings: ['medium'], rootDiskGiB: 60, affinityGroups: ['spread'] },
        settings: { offerings: ['large', 'huge'], rootDiskGiB: 60, affinityGroups: ['spread'] },
        maxUnavailable: { percent: 20 },
      },
    ])
  })

  it('CKS-01 a pool that is not named keeps its stored settings and goes one node at a time', () => {
    const record = aRecord({
      pools: { gpu: stored('gpu', { offerings: ['medium'] }) },
      poolOrder: ['gpu'],
    })

    const [, gpu] = effectivePools([asked('worker')], record, workers)

    expect(gpu).toEqual({
      name: 'gpu',
      ...stored('gpu', { offerings: ['medium'] }),
      previous: someSettings({ offerings: ['medium'] }),
      asked: NO_SETTINGS,
      maxUnavailable: { count: 1 },
    })
  })

  it('CKS-03 machines of other pools have no say in what is recorded', () => {
    const members = [...workers, aWorker('g-1', { pool: 'gpu', machine: { offering: 'huge' } })]

    expect(settingsIn([asked('worker')], aRecord(), members)).toEqual({ worker: today })
  })
})

describe('which pools, and in which order', () => {
  const record = aRecord({
    pools: { a: stored('a'), b: stored('b'), c: stored('c') },
    poolOrder: ['c', 'a', 'b'],
  })

  it.each<[string, string[], string[]]>([
    ['those named first, in the order of the spec', ['b', 'd'], ['b', 'd', 'c', 'a']],
    ['those stored in the order they were stored in', [], ['c', 'a', 'b']],
    ['one named that is stored comes once', ['a'], ['a', 'c', 'b']],
  ])('CKS-08 %s', (_, named, expected) => {
    const pools = named.map((name) => asked(name))

    expect(poolsInForce(pools, record).map((pool) => pool.name)).toEqual(expected)
  })

  it.each([
    ['as it was stored, where the request does not say', { a: { kind: 'labels', labels: { pool: 'a' } } }],
    ['as its type implies, where nothing is stored either', {}],
  ] as const)('CKS-01 a pool that is named is selected %s', (_, stored) => {
    const spec = asked('a', {}, { select: null })
    const pools = Object.fromEntries(
      Object.entries(stored).map(([name, select]) => [
        name,
        { type: 'worker' as const, select, settings: NO_SETTINGS },
      ]),
    )
    const here = aRecord({ pools, poolOrder: Object.keys(pools) })

    expect(poolsInForce([spec], here)[0]?.select).toEqual('a' in stored ? stored.a : { kind: 'rest' })
  })

  it('CKS-01 a pool that is named is selected as the request says, one that is not as it was stored', () => {
    const spec = asked('a', {}, { select: { kind: 'labels', labels: { zone: 'new' } } })

    expect(poolsInForce([spec], record).map((pool) => pool.select)).toEqual([
      { kind: 'labels', labels: { zone: 'new' } },
      { kind: 'labels', labels: { pool: 'c' } },
      { kind: 'labels', labels: { pool: 'b' } },
    ])
  })

  it('CKS-02 what is stored is read back as the same pools in the same order', () => {
    const pools = effectivePools([asked('d', { rootDiskGiB: 80 })], record, [])
    const later = aRecord(poolsToStore(pools))

    const again = effectivePools([], later, [])

    expect(again.map(({ name, type, select, settings }) => ({ name, type, select, settings }))).toEqual(
      pools.map(({ name, type, select, settings }) => ({ name, type, select, settings })),
    )
  })
})
