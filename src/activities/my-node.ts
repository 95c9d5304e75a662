import type { NodeJob } from '../api/activities.js'
import { failure, notYet } from '../api/failures.js'
import { TAKEOVER_SECONDS } from '../api/timing.js'
import { batchNodeName } from '../core/batch.js'
import { attemptAnnotation, MARK_KEYS } from '../core/marks.js'
import { type AttemptMark, isMarked, type NodeRecord } from '../core/model.js'
import { differences } from '../core/out-of-date.js'
import { isAnotherMachine } from '../core/verify.js'
import type { Connections, World } from '../ports/connections.js'
import type { Attempt } from './attempt.js'
import { changeNode } from './change-node.js'
import { mustHoldLease } from './ours.js'
import { waitFor } from './wait.js'

/**
 * The node of a job, read afresh, with proof that it is still this attempt's to take: our Lease, our token, our run.
 * Null for a machine without a Node. Throws `LeaseLost` or `NodeChanged`.
 *
 * After a reset the mark names the run before: its attempts may still be alive. The mark is adopted, and nothing is done
 * until they must have stopped.
 */
export async function myNode(
  world: World,
  connections: Connections,
  job: NodeJob,
  attempt: Attempt,
): Promise<NodeRecord | null> {
  const [node] = await Promise.all([
    job.node.node === null ? null : connections.cluster.node(job.node.node, attempt.signal),
    mustHoldLease(world, connections, job, attempt),
  ])
  if (job.node.node === null) return null
  if (node === null) {
    throw failure(
      'NodeChanged',
      `node ${job.node.node} vanished from the cluster; its machine was not touched`,
    )
  }
  if (await isDone(connections, node, job, attempt)) throw new AlreadyDone()
  const mark = mustBeMine(node, job)
  if (mark.run === attempt.runId) return node
  return adopt(connections, job, attempt)
}

/** The node has been through its change: a run before a reset did it. Restarting it again would be the second time. */
export class AlreadyDone extends Error {}

async function isDone(
  connections: Connections,
  node: NodeRecord,
  job: NodeJob,
  attempt: Attempt,
): Promise<boolean> {
  const rebooted = node.bootId !== null && job.baseline.bootId !== null && node.bootId !== job.baseline.bootId
  const acting = node.marks.acting?.token === job.token
  if (!rebooted || !(acting || !isMarked(node.marks))) return false
  const machine = await connections.machines.get(job.node.machineId, attempt.signal)
  return machine !== null && machine.power === 'running' && differences(machine, job.node.wants).length === 0
}

function mustBeMine(node: NodeRecord, job: NodeJob): AttemptMark {
  if (isAnotherMachine(node, job.node)) {
    throw failure(
      'NodeChanged',
      `node ${node.name} runs on ${node.providerId} now, not on ${job.node.providerId}`,
    )
  }
  const mark = node.marks.attempt
  if (mark === null || mark.token !== job.token) {
    throw failure(
      'NodeChanged',
      `node ${node.name} no longer carries the mark of this batch; somebody else took it over`,
    )
  }
  return mark
}

async function adopt(connections: Connections, job: NodeJob, attempt: Attempt): Promise<NodeRecord> {
  const name = batchNodeName(job.node)
  await changeNode(connections.cluster, attempt, name, (node) => {
    const mark = mustBeMine(node, job)
    if (mark.run === attempt.runId) return null
    return { annotations: { [MARK_KEYS.attempt]: attemptAnnotation({ ...mark, run: attempt.runId }) } }
  })
  const startedAt = performance.now()
  await waitFor<true>(attempt, {
    slowestSeconds: 1,
    limit: null,
    look: async () =>
      performance.now() - startedAt >= TAKEOVER_SECONDS * 1000
        ? { done: true }
        : { why: [`the run before the reset may still be at work on ${name}`] },
  })
  const node = await connections.cluster.node(name, attempt.signal)
  if (node === null) throw notYet('NodeChanged', `node ${name} vanished from the cluster`, 1)
  mustBeMine(node, job)
  return node
}
