import type { WithSpec } from '../api/activities.js'
import { failure } from '../api/failures.js'
import { type Batch, batchNodeName, type Position } from '../core/batch.js'
import type { Health } from '../core/model.js'
import { nameOf } from '../core/model.js'
import { holdups, type PreflightFacts } from '../core/preflight.js'
import { sayBatch, sayReasons } from '../core/progress.js'
import type { RolloutSpec } from '../core/spec.js'
import type { Connections, World } from '../ports/connections.js'
import { attempting } from './attempt.js'
import { etcdView, readFacts } from './facts.js'
import { orFailure } from './port-failure.js'
import { waitFor } from './wait.js'

const SLOWEST_SECONDS = 5
/** Every look reads all machines, and a fleet of 5,000 nodes tells of 17 changes a second, hardly any of which matters here. */
const LEAST_SECONDS = 1

/**
 * CKS-12, CKS-13: waits until every other machine runs, every other node is Ready and quorum would hold without the
 * batch. Throws `PreflightFailed` with what is in the way when the limit passes.
 */
export function preflightBatch(world: World) {
  return async (input: WithSpec & { batch: Batch; position: Position }): Promise<void> =>
    attempting('preflight', (attempt) =>
      orFailure(`preflight of ${sayBatch(input.batch)}`, 'PreflightFailed', async () => {
        const { spec, batch } = input
        const connections = await world.connect(spec.target)
        const options = {
          tolerateUnready: spec.tolerateUnready,
          startStopped: spec.startStopped,
          leave: input.position.leave.map((skip) => skip.name),
        }
        await waitFor<true>(attempt, {
          slowestSeconds: SLOWEST_SECONDS,
          leastSeconds: LEAST_SECONDS,
          watch: (wake) => [connections.cluster.watchRecentNodes(wake)],
          partlyWatched: batch.type !== 'worker',
          limit: {
            seconds: spec.limits.preflightSeconds,
            fail: (why) =>
              failure(
                'PreflightFailed',
                `batch ${sayBatch(batch)} did not get through preflight in ${spec.limits.preflightSeconds} s: ${sayReasons(why)}`,
              ),
          },
          look: async () => {
            const facts = await preflightFacts(connections, spec, batch, attempt.signal)
            const why = holdups(batch, facts, options)
            return why.length === 0 ? { done: true } : { why }
          },
        })
      }),
    )
}

/** What preflight, and the look right before the stop, decide on. */
export async function preflightFacts(
  connections: Connections,
  spec: RolloutSpec,
  batch: Batch,
  signal: AbortSignal,
): Promise<PreflightFacts> {
  // Quorum is decided on what the API server says now. What holds up workers is waited for, and a minute's delay of the
  // watch would let one more worker be cordoned, which its own reading decides.
  const readNodes = batch.type === 'worker' ? 'recent' : 'now'
  const { members, outsiders } = await readFacts(connections, spec.pools, readNodes, signal)
  const { controlPlane, cluster } = connections
  if (batch.type === 'worker') return { members, outsiders, etcd: null, etcdReady: null, apiServers: {} }
  const leaving = new Set(batch.nodes.map(batchNodeName))
  const others = [
    ...members.filter((member) => member.type === 'control').map(nameOf),
    ...outsiders.filter((node) => node.controlPlane).map((node) => node.name),
  ].filter((name) => !leaving.has(name))
  const [etcd, etcdReady, health] = await Promise.all([
    etcdView(connections, signal),
    cluster.etcdReady(signal),
    Promise.all(
      others.map(
        async (name): Promise<[string, Health]> => [
          name,
          controlPlane === null
            ? { kind: 'unknown', why: 'no etcd in the spec' }
            : await controlPlane.apiServer(name, signal),
        ],
      ),
    ),
  ])
  return { members, outsiders, etcd, etcdReady, apiServers: Object.fromEntries(health) }
}
