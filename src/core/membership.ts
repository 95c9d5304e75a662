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
  const problems: Problem[] = restBesideOthers(pools)
  const members: Member[] = []
  const outsiders: NodeRecord[] = []
  const matches = matchMachines(nodes, machines)
  const nodesOn = nodesByMachine(matches)
  const claimed = new Set<string>()

  for (const node of [...nodes].sort(byName)) {
    const owners = poolsOf(node, pools)
    const [owner, second] = owners
    // Whatever is wrong with the node: its machine is not one without a Node.
    for (const machine of matches.get(node.name) ?? []) claimed.add(machine.id)
    if (owner === undefined) {
      outsiders.push(node)
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
    problems.push(...wrongRole(node, owner))
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
    members.push({ pool: owner.name, type: owner.type, machine, node })
    problems.push(...twins(node, nodesOn.get(machine.id) ?? []))
  }

  const left = machines.filter((machine) => !claimed.has(machine.id)).sort(byName)
  const { without, unclaimed } = machinesWithoutNode(left, pools, problems)
  members.push(...without)
  problems.push(...missingEtcd(pools, machines))
  return { members, outsiders, unclaimed, problems }
}

/** `worker` without a selector is the only worker pool (CKS-00); the other one may have been stored earlier. */
function restBesideOthers(pools: readonly PoolSelection[]): Problem[] {
  const workers = pools.filter((pool) => pool.type === 'worker')
  return workers
    .filter((pool) => pool.select.kind === 'rest' && workers.length > 1)
    .map((pool) => {
      const others = workers.filter((other) => other !== pool).map((other) => other.name)
      return {
        where: `pools.${pool.name}.select`,
        what: `is missing, and there are other worker pools: ${others.join(', ')}`,
        fix: 'say by which labels its nodes are found',
      }
    })
}

/** A control-plane node rolled as a worker would be stopped without a look at quorum; a worker is no voter. */
function wrongRole(node: NodeRecord, { name, type }: PoolSelection): Problem[] {
  if (type === 'etcd' || node.controlPlane === (type === 'control')) return []
  const what = node.controlPlane
    ? `is a control-plane node, and ${name} is a worker pool`
    : `has no control-plane role, and ${name} is a control pool`
  return [{ where: `node ${node.name}`, what, fix: `correct the selector of ${name}` }]
}

/** Two Nodes on one machine: one is a leftover, and the machine would be stopped for each of them. */
function twins(node: NodeRecord, onMachine: readonly string[]): Problem[] {
  const others = onMachine.filter((name) => name !== node.name)
  if (others.length === 0) return []
  return [
    {
      where: `node ${node.name}`,
      what: `has the same machine as ${others.join(', ')} (providerID ${node.providerId ?? 'missing'})`,
      fix: 'delete the Node that is left over',
    },
  ]
}

function nodesByMachine(matches: ReadonlyMap<string, readonly Machine[]>): Map<string, string[]> {
  const names = new Map<string, string[]>()
  for (const [name, machines] of matches)
    for (const { id } of machines) names.set(id, [...(names.get(id) ?? []), name])
  return names
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
  return { without, unclaimed }
}

function missingEtcd(pools: readonly PoolSelection[], machines: readonly Machine[]): Problem[] {
  return pools.flatMap(({ name: pool, type, select }) => {
    if (type !== 'etcd' || select.kind !== 'machines') return []
    return select.names
      .filter((name) => !machines.some((machine) => machine.name === name))
      .map((name) => ({
        where: `pools.${pool}`,
        what: `etcd machine ${name} is not at the provider`,
        fix: 'correct the name in the pool',
      }))
  })
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
