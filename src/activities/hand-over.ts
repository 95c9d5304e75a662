import type { NodeJob } from '../api/activities.js'
import { batchNodeName } from '../core/batch.js'
import type { Connections } from '../ports/connections.js'
import type { Attempt } from './attempt.js'

/**
 * Moves etcd's leadership off a member that is about to go down: an election costs the cluster its writes for a second or
 * more. Where that cannot be done, the election is what is left; it holds up no stop.
 */
export async function handOverLeadership(
  connections: Connections,
  job: NodeJob,
  attempt: Attempt,
): Promise<void> {
  const { controlPlane, cluster } = connections
  if (!job.node.etcdMember || controlPlane === null) return
  const name = batchNodeName(job.node)
  const handed = await controlPlane.handOverFrom(name, attempt.signal)
  if (handed.kind === 'notLeading' || job.node.node === null) return
  const node = await cluster.node(job.node.node, attempt.signal)
  if (node === null) return
  await (handed.kind === 'handedOver'
    ? cluster.nodeEvent(node, 'Normal', 'LeadershipHandedOver', `etcd is led by ${handed.to} now`)
    : cluster.nodeEvent(
        node,
        'Warning',
        'LeadershipNotHandedOver',
        `etcd may have to elect a leader when ${name} stops: ${handed.why}`,
      ))
}
