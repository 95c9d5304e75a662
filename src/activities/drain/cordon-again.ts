import type { NodeJob } from '../../api/activities.js'
import { failure } from '../../api/failures.js'
import type { NodeRecord } from '../../core/model.js'
import type { Cluster } from '../../ports/cluster.js'
import type { Attempt } from '../attempt.js'
import { changeNode } from '../change-node.js'

/**
 * The node, read afresh, and cordoned again when somebody has uncordoned it: a cordon lost in mid-drain lets new pods land
 * behind our back (B03). Only while it carries the mark of this batch.
 */
export async function cordonedNode(cluster: Cluster, attempt: Attempt, job: NodeJob): Promise<NodeRecord> {
  const name = job.node.node ?? ''
  let lost = false
  const node = await changeNode(cluster, attempt, name, (now) => {
    if (now.unschedulable || now.marks.attempt?.token !== job.token) return null
    lost = true
    return { unschedulable: true }
  })
  if (node === null) {
    throw failure('NodeChanged', `node ${name} vanished from the cluster; its machine was not touched`)
  }
  if (lost) {
    const message = 'Somebody uncordoned this node while noderoll drained it'
    await cluster.nodeEvent(node, 'Warning', 'CordonedAgain', message)
  }
  return node
}
