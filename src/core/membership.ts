import type { Machine, MachineType, Member, NodeRecord, Problem, Selector } from './model.js'
import { byName } from './order.js'

/** What membership needs to know of a pool. */
export interface PoolSelection {
  readonly name: string
  readonly type: MachineType
  readonly select: Selector
}

export interface Membership {
  readonly members: readonly Member[]
  /** Nodes in no pool. Never touched; control-plane nodes among them still count for quorum (CKS-00). */
  readonly outsiders: readonly NodeRecord[]
  /** Machines no pool can claim: no Node, and no pool that takes what is left. Stopped ones only; said in the plan. */
  readonly unclaimed: readonly Machine[]
  /** Why nothing may be written, every one of them (CKS-00). */
  readonly problems: readonly Problem[]
}

/**
 * Which machine and node belongs to which pool (CKS-00). Machines are matched to nodes by providerID, by name only
 * where the provider has none.
 */
export function membership(
  pools: readonly PoolSelection[],
  nodes: readonly NodeRecord[],
  machines: readonly Machine[],
): Membership {
  const problems: Problem[] = []
  const members: Member[] = []
  const outsiders: NodeRecord[] = []
  const matches = matchMachines(nodes, machines)
  const claimed = new Set<string>()

  for (const node of [...nodes].sort(byName)) {
    const owners = poolsOf(node, pools)
    const [owner, second] = owners
    if (owner === undefined) {
      outsiders.push(node)
      for (const machine of matches.get(node.name) ?? []) claimed.add(machine.id)
      continue
    }
    if (second !== undefined) {
      problems.push({
        where: `node ${node.name}`,
        what: `is in ${owners.length} pools: ${owners.map((pool) => pool.name).join(', ')}`,
        fix: 'make their selectors exclude each other',
      })
      continue
    }
    const [machine, ...others] = matches.get(node.name) ?? []
    if (machine === undefined || others.length > 0) {
      problems.push({
        where: `node ${node.name}`,
        what:
          machine === undefined
            ? `has no machine at the provider (providerID ${node.providerId ?? 'missing'})`
            : `has ${others.length + 1} machines at the provider (providerID ${node.providerId ?? 'missing'})`,
        fix: 'check the provider options of the spec and the providerID of the node',
      })
      continue
    }
    claimed.add(machine.id)
    members.push({ pool: owner.name, type: owner.type, machine, node })
  }

  const left = machines.filter((machine) => !claimed.has(machine.id)).sort(byName)
  const { without, unclaimed } = machinesWithoutNode(left, pools, problems)
  members.push(...without)
  return { members, outsiders, unclaimed, problems }
}

function machinesWithoutNode(
  left: readonly Machine[],
  pools: readonly PoolSelection[],
  problems: Problem[],
): { without: Member[]; unclaimed: Machine[] } {
  const without: Member[] = []
  const unclaimed: Machine[] = []
  const rest = pools.find((pool) => pool.select.kind === 'rest')
  for (const machine of left) {
    const named = pools.find(
      (pool) => pool.select.kind === 'machines' && pool.select.names.includes(machine.name),
    )
    if (named !== undefined && named.type === 'etcd') {
      without.push({ pool: named.name, type: 'etcd', machine, node: null })
    } else if (machine.power === 'stopped') {
      // The Node of a stopped machine may have been deleted while it was off (B11): it is still ours to start.
      const pool = named ?? rest
      if (pool === undefined) unclaimed.push(machine)
      else without.push({ pool: pool.name, type: pool.type, machine, node: null })
    } else {
      problems.push({
        where: `machine ${machine.name}`,
        what: `is ${machine.power} and has no Node`,
        fix: 'wait for it to join, or remove it, then ask again',
      })
    }
  }
  for (const pool of pools) {
    if (pool.select.kind !== 'machines' || pool.type !== 'etcd') continue
    const missing = pool.select.names.filter(
      (name) => !without.some((member) => member.machine.name === name),
    )
    for (const name of missing) {
      problems.push({
        where: `pools.${pool.name}`,
        what: `etcd machine ${name} is not at the provider`,
        fix: 'correct the name in the pool',
      })
    }
  }
  return { without, unclaimed }
}

function poolsOf(node: NodeRecord, pools: readonly PoolSelection[]): PoolSelection[] {
  const selecting = pools.filter((pool) => pool.select.kind !== 'rest' && selects(pool.select, node))
  if (selecting.length > 0) return selecting
  // A control-plane node is never "the rest": a cluster whose spec names workers only must not have its masters rolled.
  return node.controlPlane ? [] : pools.filter((pool) => pool.select.kind === 'rest')
}

function selects(select: Selector, node: NodeRecord): boolean {
  switch (select.kind) {
    case 'controlPlaneRole':
      return node.controlPlane
    case 'labels':
      return Object.entries(select.labels).every(([key, value]) => node.labels[key] === value)
    case 'machines':
      return select.names.includes(node.name)
    case 'rest':
      return false
    default:
      return select satisfies never
  }
}

/** The machines of each node, by node name: by providerID, by name where the provider has none (CKS-00, B22). */
export function matchMachines(
  nodes: readonly NodeRecord[],
  machines: readonly Machine[],
): Map<string, Machine[]> {
  const byProviderId = new Map<string, Machine[]>()
  const byMachineName = new Map<string, Machine[]>()
  for (const machine of machines) {
    // Azure writes the same id in several letter cases (B22).
    const [map, key] =
      machine.providerId === null
        ? [byMachineName, machine.name]
        : [byProviderId, machine.providerId.toLowerCase()]
    map.set(key, [...(map.get(key) ?? []), machine])
  }
  return new Map(
    nodes.map((node) => [
      node.name,
      (node.providerId === null ? undefined : byProviderId.get(node.providerId.toLowerCase())) ??
        byMachineName.get(node.name) ??
        [],
    ]),
  )
}
