import { failure } from '../api/failures.js'
import type { NodeChange, NodeRecord } from '../core/model.js'
import type { Cluster } from '../ports/cluster.js'
import { portErrorKind } from '../ports/errors.js'
import type { Attempt } from './attempt.js'

/** Somebody who writes to a node at the same time is met a few times, not for ever. */
const MOST_CONFLICTS = 8

/**
 * Reads a node, decides on what was read, and writes with its resourceVersion; decides again when somebody wrote in
 * between. `decide` answers null for "nothing to write". Gives the node as it is afterwards.
 */
export async function changeNode(
  cluster: Cluster,
  attempt: Attempt,
  name: string,
  decide: (node: NodeRecord) => NodeChange | null,
): Promise<NodeRecord | null> {
  for (let conflicts = 0; ; conflicts++) {
    const node = await cluster.node(name, attempt.signal)
    const change = node === null ? null : decide(node)
    if (node === null || change === null) return node
    attempt.mayStillAct()
    try {
      return await cluster.patchNode(name, node.resourceVersion, change, attempt.signal)
    } catch (error) {
      if (portErrorKind(error) !== 'conflict') throw error
      if (conflicts === MOST_CONFLICTS) {
        throw failure(
          'NodeChanged',
          `node ${name} is written to by somebody else all the time; find out who, then ask again`,
        )
      }
    }
  }
}
