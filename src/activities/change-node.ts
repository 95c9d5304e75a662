import { failure } from '../api/failures.js'
import type { NodeChange, NodeRecord } from '../core/model.js'
import type { Cluster } from '../ports/cluster.js'
import { portErrorKind } from '../ports/errors.js'
import type { Attempt } from './attempt.js'

/** Somebody who writes to a node at the same time is met a few times, not for ever. */
const MOST_CONFLICTS = 8

/**
 * Reads a node, decides on what was read, and writes with its resourceVersion; decides again when somebody wrote in
 * between. `decide` answers null for "nothing to write". Gives the node as it is afterwards, null when it is gone.
 *
 * Where the caller has just read the node (`found`), the first decision is on that: the resourceVersion of the write
 * makes sure that nobody has written since. A decision to write nothing is made again on a fresh read.
 */
export async function changeNode(
  cluster: Cluster,
  attempt: Attempt,
  name: string,
  decide: (node: NodeRecord) => NodeChange | null,
  found: NodeRecord | null = null,
): Promise<NodeRecord | null> {
  let known = found
  let conflicts = 0
  for (;;) {
    const node = known ?? (await cluster.node(name, attempt.signal))
    const isFresh = known === null
    known = null
    const change = node === null ? null : decide(node)
    if (change === null && !isFresh) continue
    if (node === null || change === null) return node
    attempt.mayStillAct()
    try {
      return await cluster.patchNode(name, node.resourceVersion, change, attempt.signal)
    } catch (error) {
      const kind = portErrorKind(error)
      // Gone since it was read: the next look says so, or finds the object that has taken its name.
      if (kind !== 'conflict' && kind !== 'notFound') throw error
      if (conflicts++ === MOST_CONFLICTS) {
        throw failure(
          'NodeChanged',
          `node ${name} is written to by somebody else all the time; find out who, then ask again`,
        )
      }
    }
  }
}
