import { describe, expect, it } from 'vitest'
import { cannotProve, checkSettings, type SettingsFacts } from '../../src/core/check-settings.js'
import type { Machine, Member, PoolSettings } from '../../src/core/model.js'
import type { EffectivePool } from '../../src/core/settings.js'
import {
  aControl,
  aGroup,
  aNode,
  anEtcd,
  aPool,
  aWorker,
  LARGE,
  several,
  someSettings,
} from '../support/builders.js'

/** A pool of which these settings are asked now. */
function asking(
  name: string,
  asked: Partial<PoolSettings>,
  previous: Partial<PoolSettings> = {},
): EffectivePool {
  return aPool(name, {
    asked: someSettings(asked),
    previous: someSettings(previous),
    settings: someSettings({ ...previous, ...asked }),
  })
}

/** A pool of which nothing is asked now. */
function storing(name: string, stored: Partial<PoolSettings>): EffectivePool {
  return aPool(name, { previous: someSettings(stored), settings: someSettings(stored) })
}

function facts(
  pools: readonly EffectivePool[],
  members: readonly Member[],
  more: Partial<SettingsFacts> = {},
): SettingsFacts {
  return { pools, members, outsiders: [], refusals: {}, ...more }
}

function said(found: SettingsFacts, rollout: boolean): string[] {
  return checkSettings(found, rollout).problems.map(({ where, what }) => `${where}: ${what}`)
}

const workers = (machine: Partial<Machine>) => [aWorker('w-1', { machine }), aWorker('w-2')]

describe('root disks that cannot take the size', () => {
  const EPHEMERAL = { rootDiskFixed: 'its OS disk is ephemeral' }
  const SHRINKS = 'root disk size 80 GiB would shrink the 100 GiB disk of w-1'
  const FIXED = 'root disk size 80 GiB cannot be had by w-1: its OS disk is ephemeral'

  it.each<[string, Partial<Machine>, string | null]>([
    ['grows', {}, null],
    ['is as large already', { rootDiskGiB: 80 }, null],
    ['would shrink', { rootDiskGiB: 100 }, SHRINKS],
    ['can never change', EPHEMERAL, FIXED],
    ['can never change, and has the size', { ...EPHEMERAL, rootDiskGiB: 80 }, null],
    ['can never change, and has a size that cannot be seen', { ...EPHEMERAL, rootDiskGiB: null }, FIXED],
    ['can never change, and is larger', { ...EPHEMERAL, rootDiskGiB: 100 }, SHRINKS],
    ['has a size that cannot be seen', { rootDiskGiB: null }, null],
  ])('CKS-04 asked for, with a disk that %s', (_, machine, what) => {
    const found = facts([asking('worker', { rootDiskGiB: 80 })], workers(machine))

    expect(said(found, true)).toEqual(what === null ? [] : [`pools.worker.rootDiskGiB: ${what}`])
    expect(checkSettings(found, true).skippedPools).toEqual({})
  })

  it.each<[string, Partial<Machine>]>([
    ['would shrink', { rootDiskGiB: 100 }],
    ['can never change', EPHEMERAL],
  ])('CKS-04 with rollout: false a size is accepted that %s', (_, machine) => {
    const found = facts([asking('worker', { rootDiskGiB: 80 })], workers(machine))

    expect(checkSettings(found, false)).toEqual({ problems: [], skippedPools: {} })
  })

  it.each<[string, EffectivePool]>([
    ['of a pool nothing is asked of', storing('worker', { rootDiskGiB: 80 })],
    ['of a pool something else is asked of', asking('worker', { offerings: ['large'] }, { rootDiskGiB: 80 })],
  ])('CKS-04 a stored size %s skips the pool and refuses nothing', (_, pool) => {
    const found = facts([pool], workers({ rootDiskGiB: 100 }))

    expect(checkSettings(found, true)).toEqual({
      problems: [],
      skippedPools: { worker: `pool worker: stored ${SHRINKS}` },
    })
  })

  it('CKS-04 a pool is skipped by its own machines only', () => {
    const pools = [storing('a', { rootDiskGiB: 80 }), storing('b', { rootDiskGiB: 80 })]
    const members = [
      aWorker('a-1', { pool: 'a', machine: { rootDiskGiB: 100 } }),
      aWorker('b-1', { pool: 'b' }),
    ]

    expect(Object.keys(checkSettings(facts(pools, members), true).skippedPools)).toEqual(['a'])
  })

  it('CKS-04 the size to ask for is the one of the largest disk', () => {
    const members = [60, 120, 90].map((rootDiskGiB, index) =>
      aWorker(`w-${index}`, { machine: { rootDiskGiB } }),
    )

    const { problems } = checkSettings(facts([asking('worker', { rootDiskGiB: 55 })], members), true)

    expect(problems.map(({ fix }) => fix)).toEqual(['ask for at least 120 GiB'])
  })
})

describe('explicit dedication', () => {
  const dedicated = aWorker('w-1', {
    machine: { affinityGroups: [aGroup('host-7', true), aGroup('spread')] },
  })

  it.each([true, false])('CKS-05 is refused in settings, with rollout: %s', (rollout) => {
    const pools = [asking('worker', { affinityGroups: ['spread', 'host-7'] })]

    expect(said(facts(pools, [dedicated]), rollout)).toEqual([
      'pools.worker.affinityGroups: host-7 is an explicit dedication',
    ])
  })

  it('CKS-05 is refused also where only machines of another pool have it', () => {
    const pools = [asking('gpu', { affinityGroups: ['host-7'] })]

    expect(said(facts(pools, [dedicated]), true)).toEqual([
      'pools.gpu.affinityGroups: host-7 is an explicit dedication',
    ])
  })

  it('CKS-05 on machines is no obstacle', () => {
    const pools = [asking('worker', { affinityGroups: ['spread'] })]

    expect(said(facts(pools, [dedicated]), true)).toEqual([])
  })
})

describe('what the provider refuses', () => {
  const refusals = { 'id-w-1': ['no offering huge'], 'id-w-2': ['no offering huge', 'no quota'] }

  it.each([true, false])(
    'CKS-04 refuses what is asked for, each reason once, with rollout: %s',
    (rollout) => {
      const found = facts([asking('worker', { offerings: ['huge'] })], workers({}), { refusals })

      expect(said(found, rollout)).toEqual([
        'pools.worker: no offering huge (w-1, w-2)',
        'pools.worker: no quota (w-2)',
      ])
    },
  )

  it('CKS-04 skips a pool with stored settings that cannot be had', () => {
    const found = facts([storing('worker', { offerings: ['huge'] })], workers({}), { refusals })

    expect(checkSettings(found, true)).toEqual({
      problems: [],
      skippedPools: { worker: 'pool worker: no offering huge (w-1, w-2)' },
    })
    expect(checkSettings(found, false)).toEqual({ problems: [], skippedPools: {} })
  })

  it('CKS-04 names at most five nodes a reason', () => {
    const members = several(7, aWorker, 'w')
    const all = Object.fromEntries(members.map((member) => [member.machine.id, ['no quota']]))
    const found = facts([asking('worker', { offerings: ['huge'] })], members, { refusals: all })

    expect(said(found, true)).toEqual(['pools.worker: no quota (w-1, w-2, w-3, w-4, w-5, …)'])
  })
})

describe('settings for a type that cannot lose a node', () => {
  const one = [aControl('cp-1')]
  const refused = (name: string, why: string) =>
    `pools.control: would put ${name} out of date, and control cannot lose a node: it is ${why}`
  const ONLY = refused('cp-1', 'the only one of its type (control nodes with stacked etcd)')

  it.each<[string, EffectivePool, Member[], string[]]>([
    ['the only control node would be out of date', asking('control', LARGE), one, [ONLY]],
    [
      'one of two stacked control nodes would be out of date',
      asking('control', LARGE),
      [aControl('cp-1'), aControl('cp-2', { machine: { offering: 'large' } })],
      [refused('cp-1', 'one of only 2 control nodes with stacked etcd')],
    ],
    ['one of three may be', asking('control', LARGE), several(3, aControl, 'cp'), []],
    ['the settings change nothing', asking('control', { offerings: ['small', 'large'] }), one, []],
    ['the node differed already', asking('control', { rootDiskGiB: 80 }, { offerings: ['large'] }), one, []],
    [
      'the node is stopped',
      asking('control', LARGE),
      [aControl('cp-1', { machine: { power: 'stopped' } })],
      [],
    ],
    [
      'unknown power is not stopped',
      asking('control', LARGE),
      [aControl('cp-1', { machine: { power: 'unknown' } })],
      [ONLY],
    ],
    ['nothing is asked, the stored settings differ', storing('control', LARGE), one, []],
    ['the only worker', asking('worker', LARGE), [aWorker('w-1')], []],
  ])('CKS-14 %s', (_, pool, members, expected) => {
    expect(said(facts([pool], members), true)).toEqual(expected)
  })

  it('CKS-14 two etcd members', () => {
    const found = facts([asking('etcd', LARGE)], several(2, anEtcd, 'e'))

    expect(said(found, true)).toEqual([
      'pools.etcd: would put e-1 out of date, and etcd cannot lose a node: it is one of only 2 etcd members',
      'pools.etcd: would put e-2 out of date, and etcd cannot lose a node: it is one of only 2 etcd members',
    ])
  })

  it('CKS-14 control nodes in no pool count', () => {
    const outsiders = ['o-1', 'o-2'].map((name) => aNode(name, { controlPlane: true }))

    expect(said(facts([asking('control', LARGE)], one, { outsiders }), true)).toEqual([])
  })

  it('CKS-14 is asked of a rollout only: with rollout: false the settings are stored', () => {
    expect(said(facts([asking('control', LARGE)], one), false)).toEqual([])
  })

  it('CKS-04, CKS-05, CKS-14 all problems of all pools are named at once', () => {
    const pools = [
      asking('control', LARGE),
      asking('worker', { rootDiskGiB: 40, affinityGroups: ['host-7'] }),
    ]
    const members = [...one, aWorker('w-1', { machine: { affinityGroups: [aGroup('host-7', true)] } })]

    expect(checkSettings(facts(pools, members), true).problems.map(({ where }) => where)).toEqual([
      'pools.control',
      'pools.worker.affinityGroups',
      'pools.worker.rootDiskGiB',
    ])
  })
})

describe('nodes whose restart could not be proven', () => {
  const masked = { bootId: null }

  it.each<[string, Member, boolean]>([
    ['out of date, no boot id', aWorker('w-1', { node: masked }), true],
    ['out of date, with a boot id', aWorker('w-1'), false],
    ['up to date, no boot id', aWorker('w-1', { node: masked, machine: { offering: 'large' } }), false],
    [
      'stopped: any boot id will be a new one',
      aWorker('w-1', { node: masked, machine: { power: 'stopped' } }),
      false,
    ],
    ['external etcd: there is no Node', anEtcd('e-1', { pool: 'worker' }), false],
  ])('CKS-18 %s', (_, member, expected) => {
    const pools = [aPool('worker', { settings: LARGE })]

    expect(cannotProve([member], pools)).toEqual(
      expected
        ? [
            'node w-1: its boot id is empty, masked or shared with another node, so a restart could not be verified',
          ]
        : [],
    )
  })
})
