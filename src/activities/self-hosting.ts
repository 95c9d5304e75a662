import type { Member, NodeRecord } from '../core/model.js'
import { ownNodes, type PodPlace, type SelfHosting, selfHostingProblems } from '../core/self-hosting.js'
import type { EffectivePool } from '../core/settings.js'
import type { RolloutSpec } from '../core/spec.js'
import type { Connections, World } from '../ports/connections.js'

/** The part of the cluster's facts that is looked at. */
interface Facts {
  readonly nodes: readonly NodeRecord[]
  readonly members: readonly Member[]
  readonly pools: readonly EffectivePool[]
}

/** Names under which a Service is reached from inside its cluster only. */
const SERVICE_NAME = /\.svc(\.|$)/

/** Which of noderoll's workers, and whether Temporal itself, run in the cluster that is rolled. Throws `PortError`. */
async function readSelfHosting(
  world: World,
  connections: Connections,
  facts: Pick<Facts, 'nodes'>,
  signal: AbortSignal,
): Promise<SelfHosting> {
  const workers = await world.executions.workers()
  const names = new Set(facts.nodes.map((node) => node.name))
  const places = workers.flatMap(({ place }) => (place !== null && names.has(place.node) ? [place] : []))
  const found = await Promise.all(places.map((place) => isThere(connections, place, signal)))
  const inside = places.filter((_, at) => found[at])
  // One that still counts as polling, but whose pod is gone, helps nobody any more.
  const gone = new Set(places.filter((_, at) => !found[at]))
  const alive = workers.filter(({ place }) => place === null || !gone.has(place))
  const { host } = world.executions
  return {
    workers: alive,
    inside,
    temporalInside: inside.length > 0 && SERVICE_NAME.test(host) ? host : null,
  }
}

/** Another cluster may have a node of the same name: only the pod itself proves that this one is meant. */
async function isThere(
  { cluster }: Connections,
  { node, namespace, pod }: PodPlace,
  signal: AbortSignal,
): Promise<boolean> {
  const pods = await cluster.podsOn(node, signal)
  return pods.some((one) => one.namespace === namespace && one.name === pod)
}

/** What speaks against rolling this cluster from inside, in sentences; empty where the spec allows it. */
export async function selfHostingRefusals(
  world: World,
  connections: Connections,
  spec: RolloutSpec,
  facts: Facts,
  signal: AbortSignal,
): Promise<string[]> {
  if (spec.selfHosted || !spec.rollout) return []
  const hosting = await readSelfHosting(world, connections, facts, signal)
  const settings = Object.fromEntries(facts.pools.map((pool) => [pool.name, pool.settings]))
  return selfHostingProblems(hosting, facts.members, settings).map(
    ({ where, what, fix }) => `${where}: ${what}; ${fix}`,
  )
}

/** Names of the nodes that noderoll's own workers run on. */
export async function ownNodesOf(
  world: World,
  connections: Connections,
  facts: Facts,
  signal: AbortSignal,
): Promise<string[]> {
  return ownNodes(await readSelfHosting(world, connections, facts, signal))
}
