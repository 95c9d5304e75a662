import { failure } from '../api/failures.js'
import { asksAnything, checkSettings, type SettingsVerdict } from '../core/check-settings.js'
import { leaderIn } from '../core/etcd-view.js'
import { whyUnhealthy } from '../core/health.js'
import { type Membership, membership } from '../core/membership.js'
import type { EtcdView, Machine, NodeRecord, PoolSpec } from '../core/model.js'
import type { RolloutFacts } from '../core/next-batch.js'
import { differences } from '../core/out-of-date.js'
import type { ClusterRecord } from '../core/record.js'
import { type EffectivePool, effectivePools, poolsInForce } from '../core/settings.js'
import type { RolloutSpec, Target } from '../core/spec.js'
import type { Connections, World } from '../ports/connections.js'
import type { Versioned } from '../ports/records.js'
import { changesTogether } from './changes-together.js'
import { ownNodesOf } from './self-hosting.js'

/**
 * `now`: asks the API server. `recent`: what was there at most a minute ago, without a request; never for quorum, nor
 * for what is decided once and acted on without another look at the node.
 */
export type ReadNodes = 'now' | 'recent'

/** Everything a decision about the whole cluster needs. */
export interface ClusterFacts extends Membership {
  readonly record: Versioned<ClusterRecord>
  readonly identity: string
  readonly nodes: readonly NodeRecord[]
  readonly machines: readonly Machine[]
  readonly pools: readonly EffectivePool[]
}

/** Reads nodes, machines and the stored record, side by side; all but the nodes just now. Throws `PortError`. */
export async function readFacts(
  connections: Connections,
  asked: readonly PoolSpec[],
  readNodes: ReadNodes,
  signal: AbortSignal,
): Promise<ClusterFacts> {
  const [record, identity, nodes, machines] = await Promise.all([
    connections.records.read(signal),
    connections.cluster.identity(signal),
    readNodes === 'now' ? connections.cluster.nodes(signal) : connections.cluster.recentNodes(signal),
    connections.machines.list(signal),
  ])
  const found = membership(poolsInForce(asked, record.value), nodes, machines)
  return {
    ...found,
    record,
    identity,
    nodes,
    machines,
    pools: effectivePools(asked, record.value, found.members),
  }
}

/** Throws `SettingsRefused` naming every problem of the membership and of the cluster's identity (CKS-00). */
export function mustBeThisCluster(target: Target, facts: ClusterFacts): void {
  const problems = notThisCluster(target, facts)
  if (problems.length > 0)
    throw failure('SettingsRefused', refusalSentence(target.cluster, problems), problems)
}

/** What is wrong with the membership and the cluster's identity, one sentence each (CKS-00). */
export function notThisCluster(target: Target, facts: ClusterFacts): string[] {
  return [
    ...anotherCluster(target, facts),
    ...facts.problems.map((problem) => `${problem.where} ${problem.what}; ${problem.fix}`),
  ]
}

/** Is what is stored there of another cluster (CKS-00)? One sentence each. */
export function anotherCluster(target: Target, facts: Pick<ClusterFacts, 'record' | 'identity'>): string[] {
  const problems: string[] = []
  const { cluster, identity } = facts.record.value
  if (identity !== null && identity !== facts.identity) {
    problems.unshift(
      `cluster ${target.cluster} was another one (identity ${identity}, now ${facts.identity}); ` +
        'check the context of the spec, or remove the ConfigMap noderoll if the cluster was rebuilt',
    )
  }
  if (cluster !== null && cluster !== target.cluster) {
    problems.unshift(
      `this cluster is known as ${cluster}, not ${target.cluster}; check the context or the name in the spec`,
    )
  }
  return problems
}

/** A control or etcd pool stored earlier needs `etcd` as much as one in the request: its nodes could never be rolled. */
export function withoutEtcd(target: Target, facts: Pick<ClusterFacts, 'pools'>): string[] {
  if (target.etcd !== null) return []
  return facts.pools
    .filter((pool) => pool.type !== 'worker')
    .map((pool) => `etcd: is missing, and ${pool.name} is stored as a ${pool.type} pool; say how to ask etcd`)
}

export function refusalSentence(cluster: string, problems: readonly string[]): string {
  const shown = problems.slice(0, 20).join('. ')
  const more = problems.length > 20 ? `. And ${problems.length - 20} more` : ''
  return `Cluster ${cluster} is not rolled, nothing was changed: ${shown}${more}`
}

/** Asks the provider about every machine that would change, and core about the rest (CKS-04, CKS-05, CKS-14). */
export async function settingsVerdict(
  connections: Connections,
  facts: ClusterFacts,
  rollout: boolean,
  signal: AbortSignal,
): Promise<SettingsVerdict & { readonly warnings: readonly string[] }> {
  const refusals: Record<string, readonly string[]> = {}
  const asking = facts.members.filter((member) => {
    const pool = facts.pools.find((one) => one.name === member.pool)
    return pool !== undefined && differences(member.machine, pool.settings).length > 0
  })
  for (let i = 0; i < asking.length; i += REFUSALS_AT_ONCE) {
    await Promise.all(
      asking.slice(i, i + REFUSALS_AT_ONCE).map(async ({ machine, pool: name }) => {
        const pool = facts.pools.find((one) => one.name === name)
        if (pool === undefined) return
        const { settings, asked } = pool
        // A stored size beside something asked for skips the pool, which core sees to; it refuses nothing (CKS-04).
        const sizeCounts = rollout && (asked.rootDiskGiB !== null || !asksAnything(pool))
        for (const offering of settings.offerings ?? [null]) {
          const wants = {
            offering,
            rootDiskGiB: sizeCounts ? settings.rootDiskGiB : null,
            affinityGroups: settings.affinityGroups,
          }
          const found = await connections.machines.refusals(machine, wants, signal)
          if (found.length > 0)
            refusals[machine.id] = [...new Set([...(refusals[machine.id] ?? []), ...found])]
        }
      }),
    )
  }
  const shared = await changesTogether(connections.machines, asking, facts.pools, signal)
  for (const [id, reasons] of Object.entries(shared.refusals))
    refusals[id] = [...(refusals[id] ?? []), ...reasons]
  const { pools, members, outsiders } = facts
  return {
    ...checkSettings({ pools, members, outsiders, refusals }, rollout),
    warnings: shared.warnings,
  }
}

const REFUSALS_AT_ONCE = 10

/** What a batch is decided on. */
export async function rolloutFacts(
  world: World,
  connections: Connections,
  spec: RolloutSpec,
  facts: ClusterFacts,
  signal: AbortSignal,
): Promise<RolloutFacts> {
  const verdict = await settingsVerdict(connections, facts, true, signal)
  return judgedFacts(world, connections, spec, facts, verdict, signal)
}

/** The same, when the settings have been judged already: asking about every machine is what costs. */
export async function judgedFacts(
  world: World,
  connections: Connections,
  spec: RolloutSpec,
  facts: ClusterFacts,
  { skippedPools }: Pick<SettingsVerdict, 'skippedPools'>,
  signal: AbortSignal,
): Promise<RolloutFacts> {
  const [own, etcd] = await Promise.all([
    ownNodesOf(world, connections, facts, signal),
    leaderMatters(facts) ? etcdView(connections, signal) : null,
  ])
  const leader = leaderIn(etcd)
  const goLast = [...own, ...(leader === null ? [] : [leader])]
  const { pools, members, outsiders } = facts
  return { pools, members, outsiders, skippedPools, startStopped: spec.startStopped, goLast }
}

/** Whoever leads etcd is worth a question only while one of its machines may be rolled. */
function leaderMatters({ members, pools }: ClusterFacts): boolean {
  return members.some(({ type, machine, pool: name }) => {
    const pool = pools.find((one) => one.name === name)
    return type !== 'worker' && pool !== undefined && differences(machine, pool.settings).length > 0
  })
}

/** Why the cluster is not healthy, membership included (CKS-21); empty when it is. */
export async function whyNotHealthy(
  connections: Connections,
  facts: ClusterFacts,
  signal: AbortSignal,
): Promise<string[]> {
  const holdsEtcd = facts.members.some((member) => member.type !== 'worker')
  const etcd = holdsEtcd ? ((await etcdView(connections, signal)) ?? NOBODY_TO_ASK) : null
  return [
    ...whyUnhealthy(facts.members, facts.outsiders, etcd),
    ...facts.problems.map((problem) => `${problem.where} ${problem.what}`),
  ]
}

const NOBODY_TO_ASK: EtcdView = { kind: 'unknown', why: 'the request does not say how to ask etcd' }

/** The members as etcd shows them; null where the target has no control plane of its own to look after. */
export async function etcdView(connections: Connections, signal: AbortSignal): Promise<EtcdView | null> {
  return connections.controlPlane === null ? null : connections.controlPlane.members(signal)
}
