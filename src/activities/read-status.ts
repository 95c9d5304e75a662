import type { ClusterStatus, PoolStatus } from '../api/activities.js'
import { isUnavailable } from '../core/budget.js'
import { nameOf } from '../core/model.js'
import { compareNames } from '../core/order.js'
import { isOutOfDate } from '../core/out-of-date.js'
import { bounded, MOST_NAMES } from '../core/progress.js'
import type { ClusterState } from '../core/record.js'
import { releaseDecisions } from '../core/release.js'
import type { Target } from '../core/spec.js'
import type { Connections, World } from '../ports/connections.js'
import { type Attempt, attempting } from './attempt.js'
import { type ClusterFacts, notThisCluster, readFacts, whyNotHealthy } from './facts.js'
import { orFailure } from './port-failure.js'
import { isGone } from './take-lease.js'

/** The cluster as it is, at any time, in pages of 100 names (CKS-06): reads only. */
export function readStatus(world: World) {
  return async ({ target, page }: { target: Target; page: number }): Promise<ClusterStatus> =>
    attempting('status', (attempt) =>
      orFailure(`status of ${target.cluster}`, 'SettingsRefused', async () => {
        const connections = await world.connect(target)
        const facts = await readFacts(connections, [], 'recent', attempt.signal)
        const lease = await connections.records.lease(attempt.signal)
        const { value: record } = facts.record
        const start = page * MOST_NAMES
        const pools = facts.pools.map((pool) => poolStatus(facts, pool.name, start))
        const marked = releaseDecisions(facts.nodes, facts.machines)
        const more = Math.max(
          marked.length,
          ...facts.pools.map((pool) => outOfDateNames(facts, pool.name).length),
        )
        return {
          cluster: target.cluster,
          state: await stateOf(world, connections, facts, lease.value.holder, attempt),
          holder: lease.value.holder,
          holderSince: lease.value.since,
          lastError: record.lastError,
          capacity: record.capacity,
          pools,
          marked: marked.slice(start, start + MOST_NAMES).map(({ node, decision }) => ({
            name: node.name,
            pool: facts.members.find((member) => member.node?.name === node.name)?.pool ?? '',
            why: decision.kind === 'nothing' ? '' : decision.why,
          })),
          problems: bounded(notThisCluster(target, facts)),
          nextPage: more > start + MOST_NAMES ? page + 1 : null,
        }
      }),
    )
}

/** No record means the state that health gives; `Updating` whose holder is gone means `Alert` (CKS-07). */
async function stateOf(
  world: World,
  connections: Connections,
  facts: ClusterFacts,
  holder: string | null,
  attempt: Attempt,
): Promise<ClusterState> {
  const { state } = facts.record.value
  if (state === null)
    return (await whyNotHealthy(connections, facts, attempt.signal)).length === 0 ? 'Running' : 'Alert'
  if (state !== 'Updating') return state
  return holder === null || (await isGone(world, holder, attempt)) ? 'Alert' : 'Updating'
}

function poolStatus(facts: ClusterFacts, name: string, start: number): PoolStatus {
  const pool = facts.pools.find((one) => one.name === name)
  const members = facts.members.filter((member) => member.pool === name)
  const names = outOfDateNames(facts, name)
  return {
    pool: name,
    type: pool?.type ?? 'worker',
    machines: members.length,
    outOfDate: names.length,
    unavailable: members.filter(isUnavailable).length,
    settings: facts.record.value.pools[name]?.settings ?? null,
    outOfDateNodes: names.slice(start, start + MOST_NAMES),
  }
}

function outOfDateNames(facts: ClusterFacts, poolName: string): string[] {
  const settings = facts.pools.find((pool) => pool.name === poolName)?.settings
  if (settings === undefined) return []
  return facts.members
    .filter((member) => member.pool === poolName && isOutOfDate(member, settings))
    .map(nameOf)
    .sort(compareNames)
}
