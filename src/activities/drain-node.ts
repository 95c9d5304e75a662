import type { Drained } from '../api/activities.js'
import { failure } from '../api/failures.js'
import { batchNodeName } from '../core/batch.js'
import type { NodeRecord } from '../core/model.js'
import type { Connections, World } from '../ports/connections.js'
import { type Attempt, attempting } from './attempt.js'
import { type DrainJob, NodeDrain } from './drain/node-drain.js'
import { AlreadyDone, myNode } from './my-node.js'
import { orFailure } from './port-failure.js'
import { waitFor } from './wait.js'

/** Longest pause between two looks when no watch tells of anything, in seconds. */
const SLOWEST_SECONDS = 2

const NOTHING: Drained = { evicted: 0, warnings: [] }

/**
 * Evicts what the policy allows, in its order, and waits until each evicted pod's UID is gone (CKS-16, B01, B02) and the
 * volumes of those pods are detached. Cordons again when somebody uncordons meanwhile (B03). Throws `DrainRefused` before
 * the first eviction when a pod may not be evicted, and `DrainBlocked` at the deadline, naming pods, budgets and their
 * arithmetic. A refusal that no pod is the reason of is `NotAllowed`: it would meet every other node, too, and says nothing
 * against this one.
 */
export function drainNode(world: World) {
  return async (input: DrainJob & { limitSeconds: number }): Promise<Drained> =>
    attempting(batchNodeName(input.node), (attempt) =>
      orFailure(`drain of ${batchNodeName(input.node)}`, 'NotAllowed', async () => {
        const connections = await world.connect(input.target)
        try {
          const node = await myNode(world, connections, input, attempt)
          return node === null ? NOTHING : await drain(world, connections, input, attempt, node)
        } catch (error) {
          if (error instanceof AlreadyDone) return NOTHING
          throw error
        }
      }),
    )
}

async function drain(
  world: World,
  connections: Connections,
  input: DrainJob & { limitSeconds: number },
  attempt: Attempt,
  node: NodeRecord,
): Promise<Drained> {
  const drain = new NodeDrain(world, connections, input, attempt, node)
  try {
    await waitFor<true>(attempt, {
      slowestSeconds: SLOWEST_SECONDS,
      watch: (wake) => drain.watch(wake),
      watchesFirst: true,
      limit: {
        seconds: input.limitSeconds,
        fail: (why) =>
          failure(
            'DrainBlocked',
            `drain of ${node.name} did not end in ${Math.round(input.limitSeconds)} s: ${[...why, ...drain.warnings].join('; ')}`,
          ),
      },
      look: () => drain.look(),
    })
  } finally {
    // Also when it failed or was cancelled: who puts the node back then must not meet an eviction of ours.
    await drain.end()
  }
  return await drain.end()
}
