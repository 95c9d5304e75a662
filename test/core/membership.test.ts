import { describe, expect, it } from 'vitest'
import { type Membership, matchMachines, membership, type PoolSelection } from '../../src/core/membership.js'
import type { Machine, NodeRecord } from '../../src/core/model.js'
import { nameOf } from '../../src/core/model.js'
import { aMachine, aNode } from '../support/builders.js'

const CONTROL: PoolSelection = { name: 'control', type: 'control', select: { kind: 'controlPlaneRole' } }
const REST: PoolSelection = { name: 'worker', type: 'worker', select: { kind: 'rest' } }
const GPU: PoolSelection = {
  name: 'gpu',
  type: 'worker',
  select: { kind: 'labels', labels: { pool: 'gpu' } },
}
const FAST: PoolSelection = {
  name: 'fast',
  type: 'worker',
  select: { kind: 'labels', labels: { pool: 'gpu', disk: 'nvme' } },
}
const ETCD: PoolSelection = {
  name: 'etcd',
  type: 'etcd',
  select: { kind: 'machines', names: ['e-1', 'e-2'] },
}

const control = (name: string) => aNode(name, { controlPlane: true })
const gpu = (name: string) => aNode(name, { labels: { pool: 'gpu' } })
const machinesOf = (nodes: readonly NodeRecord[]) => nodes.map((node) => aMachine(node.name))

/** `pool: names`, as an operator would write it down. */
function poolsIn({ members }: Membership): Record<string, string[]> {
  const pools: Record<string, string[]> = {}
  for (const member of members) pools[member.pool] = [...(pools[member.pool] ?? []), nameOf(member)]
  return pools
}

function problemsIn(found: Membership): string[] {
  return found.problems.map(({ where, what }) => `${where} ${what}`)
}

describe('which node is in which pool', () => {
  const nodes = [control('cp-1'), gpu('g-1'), aNode('w-10'), aNode('w-2')]

  it.each<[string, PoolSelection[], Record<string, string[]>, string[]]>([
    [
      'control by its role, the rest by nothing',
      [CONTROL, REST],
      { control: ['cp-1'], worker: ['g-1', 'w-2', 'w-10'] },
      [],
    ],
    ['pools by label alone: the others are in no pool', [GPU], { gpu: ['g-1'] }, ['cp-1', 'w-2', 'w-10']],
    [
      'control nodes are never the rest: a spec of workers leaves them outside',
      [REST],
      { worker: ['g-1', 'w-2', 'w-10'] },
      ['cp-1'],
    ],
    ['every label of a selector has to be there', [FAST], {}, ['cp-1', 'g-1', 'w-2', 'w-10']],
    ['no pools, everybody outside', [], {}, ['cp-1', 'g-1', 'w-2', 'w-10']],
  ])('CKS-00 %s', (_, pools, expected, outsiders) => {
    const found = membership(pools, nodes, machinesOf(nodes))

    expect(poolsIn(found)).toEqual(expected)
    expect(found.outsiders.map((node) => node.name)).toEqual(outsiders)
    expect(found.problems).toEqual([])
    expect(found.unclaimed).toEqual([])
  })

  it('CKS-00 nodes in no pool block nothing, even without a machine or with two', () => {
    const outsiders = [aNode('o-1'), aNode('o-2')]
    const machines = [aMachine('o-2'), aMachine('o-2', { id: 'second' })]

    expect(membership([GPU], outsiders, machines)).toEqual({
      members: [],
      outsiders,
      unclaimed: [],
      problems: [],
    })
  })

  it('CKS-00 external etcd machines are members without a Node, running or not', () => {
    const machines = [aMachine('e-1'), aMachine('e-2', { power: 'stopped' })]

    const found = membership([ETCD], [], machines)

    expect(found.members).toEqual(
      machines.map((machine) => ({ pool: 'etcd', type: 'etcd', machine, node: null })),
    )
    expect(found.problems).toEqual([])
  })

  it('CKS-00 an etcd machine on which a kubelet runs is one member, with its Node', () => {
    const machines = [aMachine('e-1'), aMachine('e-2')]

    const found = membership([ETCD], [aNode('e-1')], machines)

    expect(found.members.map(({ machine, node }) => [machine.name, node?.name ?? null])).toEqual([
      ['e-1', 'e-1'],
      ['e-2', null],
    ])
    expect(problemsIn(found)).toEqual([])
  })
})

describe('which machine a node runs on', () => {
  const ARM = '/subscriptions/x/resourceGroups/RG-Prod/providers/Microsoft.Compute'

  it.each<[string, Partial<NodeRecord>, Partial<Machine>]>([
    ['CKS-00 the same providerID', { providerId: 'sim://1' }, { providerId: 'sim://1' }],
    [
      'B22 the same providerID in another letter case',
      { providerId: `azure://${ARM.toLowerCase()}/virtualMachineScaleSets/pool/virtualMachines/11` },
      { providerId: `azure://${ARM}/virtualMachineScaleSets/pool/virtualMachines/11` },
    ],
    [
      'B22 names that have nothing to do with each other',
      { name: 'pool00000b', providerId: 'azure://11' },
      { name: 'pool_11', providerId: 'azure://11' },
    ],
    [
      'CKS-00 by name where the provider has no providerID',
      { name: 'w-1', providerId: null },
      { name: 'w-1', providerId: null },
    ],
    [
      'CKS-00 by name where only the provider has none',
      { name: 'w-1', providerId: 'k3s://w-1' },
      { name: 'w-1', providerId: null },
    ],
  ])('%s', (_, node, machine) => {
    const found = membership([REST], [aNode('w-1', node)], [aMachine('w-1', machine)])

    expect(found.problems).toEqual([])
    expect(found.members.map((member) => member.machine.name)).toEqual([machine.name ?? 'w-1'])
  })

  it('CKS-00 never by name where the provider has providerIDs', () => {
    const matched = matchMachines([aNode('w-1', { providerId: null })], [aMachine('w-1')])

    expect(matched.get('w-1')).toEqual([])
  })

  it('B22 instance ids, computer names and node names differ: each finds its own', () => {
    // Base 36 in the computer name: 9, 10, 11, 35 and 36.
    const ids = { '000009': 9, '00000a': 10, '00000b': 11, '00000z': 35, '000010': 36 }
    const nodes = Object.entries(ids).map(([suffix, id]) =>
      aNode(`pool${suffix}`, { providerId: `azure:///rg-prod/pool/${id}` }),
    )
    const machines = Object.values(ids).map((id) =>
      aMachine(`pool_${id}`, { providerId: `azure:///RG-Prod/pool/${id}` }),
    )

    const { members, problems } = membership([REST], nodes, machines)

    expect(problems).toEqual([])
    expect(Object.fromEntries(members.map(({ node, machine }) => [node?.name, machine.name]))).toEqual({
      pool000009: 'pool_9',
      pool00000a: 'pool_10',
      pool00000b: 'pool_11',
      pool00000z: 'pool_35',
      pool000010: 'pool_36',
    })
  })
})

describe('refused with nothing written', () => {
  it.each<[string, PoolSelection[], NodeRecord[], Machine[], string[]]>([
    [
      'CKS-00 a node in two pools',
      [GPU, FAST],
      [aNode('g-1', { labels: { pool: 'gpu', disk: 'nvme' } })],
      [aMachine('g-1')],
      ['node g-1 is in 2 pools: gpu, fast'],
    ],
    [
      'CKS-00 a control node that another pool selects as well',
      [CONTROL, GPU],
      [aNode('cp-1', { controlPlane: true, labels: { pool: 'gpu' } })],
      [aMachine('cp-1')],
      ['node cp-1 is in 2 pools: control, gpu'],
    ],
    [
      'CKS-00 a pool node without a machine',
      [REST],
      [aNode('w-1', { providerId: 'sim://gone' })],
      [],
      ['node w-1 has no machine at the provider (providerID sim://gone)'],
    ],
    [
      'CKS-00 a pool node without a providerID, where the provider has them',
      [REST],
      [aNode('w-1', { providerId: null })],
      [aMachine('w-1', { power: 'stopped' })],
      ['node w-1 has no machine at the provider (providerID missing)'],
    ],
    [
      'CKS-00 a pool node with two machines',
      [REST],
      [aNode('w-1')],
      [aMachine('w-1'), aMachine('copy', { providerId: 'SIM://W-1' })],
      ['node w-1 has 2 machines at the provider (providerID sim://w-1)'],
    ],
    [
      'B22 a running machine without a Node',
      [REST],
      [],
      [aMachine('pool_11')],
      ['machine pool_11 is running and has no Node'],
    ],
    [
      'CKS-00 a machine on its way up that has not joined',
      [REST],
      [],
      [aMachine('w-1', { power: 'starting' })],
      ['machine w-1 is starting and has no Node'],
    ],
    [
      'CKS-00 a machine of unknown power without a Node',
      [REST],
      [],
      [aMachine('w-1', { power: 'unknown' })],
      ['machine w-1 is unknown and has no Node'],
    ],
    [
      'CKS-00 an etcd machine that the provider does not know',
      [ETCD],
      [],
      [aMachine('e-1')],
      ['pools.etcd etcd machine e-2 is not at the provider'],
    ],
    [
      'CKS-00 a node without the control-plane role in a control pool: it is no voter',
      [{ name: 'masters', type: 'control', select: { kind: 'labels', labels: { pool: 'gpu' } } }],
      [gpu('g-1')],
      [aMachine('g-1')],
      ['node g-1 has no control-plane role, and masters is a control pool'],
    ],
    [
      'B07 b a control machine runs, and its Node does not exist',
      [CONTROL],
      [control('cp-1'), control('cp-2')],
      [aMachine('cp-1'), aMachine('cp-2'), aMachine('cp-3')],
      ['machine cp-3 is running and has no Node'],
    ],
  ])('%s', (_, pools, nodes, machines, expected) => {
    expect(problemsIn(membership(pools, nodes, machines))).toEqual(expected)
  })

  it('CKS-00 two Nodes on one machine: one of them is a leftover, and the machine would be stopped twice', () => {
    const nodes = [aNode('w-1', { providerId: 'sim://1' }), aNode('w-1-new', { providerId: 'sim://1' })]

    const found = problemsIn(membership([REST], nodes, [aMachine('w-1', { providerId: 'sim://1' })]))

    expect(found.join(' ')).toContain('w-1-new')
  })

  it('CKS-00 a control-plane node in a worker pool: it would be stopped without a look at quorum', () => {
    const linux: PoolSelection = {
      name: 'linux',
      type: 'worker',
      select: { kind: 'labels', labels: { os: 'linux' } },
    }
    const nodes = [aNode('cp-1', { controlPlane: true, labels: { os: 'linux' } })]

    const found = problemsIn(membership([linux], nodes, machinesOf(nodes)))

    expect(found.join(' ')).toContain('cp-1')
  })

  it('CKS-00 a worker pool without a selector beside another worker pool, one of them stored earlier', () => {
    const nodes = [gpu('g-1'), aNode('w-1')]

    const found = problemsIn(membership([REST, GPU], nodes, machinesOf(nodes)))

    expect(found.join(' ')).toContain('worker')
  })

  it('CKS-00 every case is listed at once, each with what to do', () => {
    const nodes = [
      aNode('g-1', { labels: { pool: 'gpu', disk: 'nvme' } }),
      aNode('g-2', { labels: { pool: 'gpu' }, providerId: 'sim://gone' }),
      aNode('g-3', { labels: { pool: 'gpu' } }),
    ]
    const machines = [
      aMachine('g-1'),
      aMachine('g-3'),
      aMachine('g-3', { id: 'second' }),
      aMachine('e-1'),
      aMachine('g-4'),
    ]

    const { problems } = membership([GPU, FAST, ETCD], nodes, machines)

    expect(problems.map(({ where }) => where)).toEqual([
      'node g-1',
      'node g-2',
      'node g-3',
      'machine g-4',
      'pools.etcd',
    ])
    expect(problems.filter(({ fix }) => fix === '')).toEqual([])
  })
})

describe('a stopped machine whose Node was deleted while it was off', () => {
  const stopped = aMachine('w-1', { power: 'stopped' })

  it('B11 belongs to the pool that takes the rest, and is there to be started', () => {
    const found = membership([CONTROL, REST], [], [stopped])

    expect(found).toEqual({
      members: [{ pool: 'worker', type: 'worker', machine: stopped, node: null }],
      outsiders: [],
      unclaimed: [],
      problems: [],
    })
  })

  it('CKS-00 is left alone where no pool can claim it, and blocks nothing', () => {
    const found = membership([GPU], [], [stopped])

    expect(found).toEqual({ members: [], outsiders: [], unclaimed: [stopped], problems: [] })
  })
})
