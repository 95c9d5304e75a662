import type { Baseline, Cordoned, InCluster } from '../api/activities.js'
import { failure } from '../api/failures.js'
import { additions, NOTHING_ADDED } from '../core/additions.js'
import type { Batch, BatchNode } from '../core/batch.js'
import { attemptAnnotation, MARK_KEYS } from '../core/marks.js'
import { type AttemptMark, isMarked, type Machine, type NodeChange, type NodeRecord } from '../core/model.js'
import { differences } from '../core/out-of-date.js'
import { sayBatch } from '../core/progress.js'
import { bootedSince } from '../core/recovery.js'
import { isAnotherMachine } from '../core/verify.js'
import type { Connections, World } from '../ports/connections.js'
import { allEnded } from './all-ended.js'
import { type Attempt, attempting } from './attempt.js'
import { changeNode } from './change-node.js'
import { tellNode } from './node-events.js'
import { holderOf, mustHoldLease } from './ours.js'
import { orFailure } from './port-failure.js'

/** Stands in the boot-id annotation of a machine that was off and had none: any boot id is a new one. */
const NO_BOOT_ID = 'none'

/**
 * Marks and cordons every node of the batch, takes it out of external load balancers and tells autoscalers to leave it,
 * all in one patch each (CKS-15), and gives back what was found. A node somebody else
 * cordoned gets the attempt mark only. A node with nothing left to do is named `upToDate` and not touched (CKS-24).
 * Throws `NodeChanged` when a node is gone, is another machine, or has no boot id to prove a restart by.
 */
export function cordonNodes(world: World) {
  return async (input: InCluster & { batch: Batch; token: string }): Promise<readonly Cordoned[]> =>
    attempting('cordon', (attempt) =>
      orFailure(`cordoning ${sayBatch(input.batch)}`, 'NodeChanged', async () => {
        const connections = await world.connect(input.target)
        const ours = { rollout: holderOf(world, input.rollout), token: input.token }
        // Nothing is written before all of this is known, the Lease above all.
        const [looks] = await Promise.all([
          Promise.all(input.batch.nodes.map((job) => look(connections, attempt, job))),
          mustHoldLease(world, connections, input, attempt),
        ])
        return allEnded(
          looks.map((seen) =>
            cordonOne(connections, attempt, seen, ours, (found) =>
              tellNode(world, connections.cluster, input, found, {
                type: 'Normal',
                reason: 'NoderollMarked',
                text: `Marked and cordoned: ${seen.job.why}`,
              }),
            ),
          ),
        )
      }),
    )
}

interface Look {
  readonly job: BatchNode
  readonly machine: Machine | null
  readonly node: NodeRecord | null
}

async function look({ machines, cluster }: Connections, { signal }: Attempt, job: BatchNode): Promise<Look> {
  const [machine, node] = await Promise.all([
    machines.get(job.machineId, signal),
    job.node === null ? null : cluster.node(job.node, signal),
  ])
  return { job, machine, node }
}

async function cordonOne(
  connections: Connections,
  attempt: Attempt,
  { job, machine, node: seen }: Look,
  mark: { rollout: string; token: string },
  tell: (found: NodeRecord) => void,
): Promise<Cordoned> {
  if (machine === null)
    throw failure('NodeChanged', `machine ${job.machineName} is gone at the provider; ask again`)
  const stillToDo = machine.power !== 'running' || differences(machine, job.wants).length > 0
  const ours = seen !== null && seen.marks.attempt?.token === mark.token
  // Its pods have come, and neither they nor a quorum were waited for: it is not ours to stop.
  if (job.how === 'start' && machine.power !== 'stopped' && stillToDo && !ours)
    return { kind: 'startedMeanwhile', machineId: job.machineId }
  if (job.node === null) {
    return stillToDo
      ? { kind: 'cordoned', machineId: job.machineId, baseline: NO_NODE }
      : { kind: 'upToDate', machineId: job.machineId }
  }
  let found: NodeRecord | null = null
  const decide = (node: NodeRecord): NodeChange | null => {
    if (isAnotherMachine(node, job)) {
      throw failure(
        'NodeChanged',
        `node ${node.name} runs on ${node.providerId} now, not on ${job.providerId}; look at it, then ask again`,
      )
    }
    if (node.marks.attempt?.token === mark.token && node.marks.attempt.run === attempt.runId) {
      found ??= node
      return null
    }
    found = node
    if (!stillToDo && !isMarked(node.marks)) return null
    if (job.how === 'roll' && node.bootId === null) {
      throw failure(
        'NodeChanged',
        `node ${node.name} has no boot id that could prove a restart; nothing was done to it`,
      )
    }
    return markChange(node, job, { ...mark, run: attempt.runId })
  }
  const marked = await changeNode(connections.cluster, attempt, job.node, decide, seen)
  if (marked === null || found === null)
    throw failure('NodeChanged', `node ${job.node} is gone from the cluster; its machine was not touched`)
  if (!stillToDo && !isMarked((found as NodeRecord).marks))
    return { kind: 'upToDate', machineId: job.machineId }
  tell(found)
  return { kind: 'cordoned', machineId: job.machineId, baseline: baselineOf(found, job, mark.token) }
}

const NO_NODE: Baseline = {
  bootId: null,
  uid: null,
  ephemeralStorageKiB: null,
  cordonedByOthers: false,
  foundMarked: false,
  expectNewBoot: true,
}

/** A node that is only verified and given back loses nothing that would have to be guarded. */
function additionsFor(node: NodeRecord, job: BatchNode): ReturnType<typeof additions> {
  const earlier = node.marks.attempt?.added ?? null
  return job.how === 'return'
    ? { added: earlier ?? NOTHING_ADDED, values: NOTHING_ADDED }
    : additions(node, earlier)
}

function markChange(
  node: NodeRecord,
  job: BatchNode,
  ours: { rollout: string; token: string; run: string },
): NodeChange {
  const earlier = node.marks.attempt
  const { added, values } = additionsFor(node, job)
  const mark: AttemptMark = {
    ...ours,
    at: new Date().toISOString(),
    // What an earlier rollout recorded stays until we act: release decides on it (CKS-21).
    bootId: isMarked(node.marks) ? (earlier?.bootId ?? null) : node.bootId,
    uid: node.uid,
    added,
    // An undo may come without our answer to tell it.
    foundMarked: earlier?.token === ours.token ? (earlier.foundMarked ?? false) : isMarked(node.marks),
  }
  const weCordon = !node.unschedulable || node.marks.bootId !== null
  const annotations: Record<string, string | null> = {
    ...values.annotations,
    [MARK_KEYS.attempt]: attemptAnnotation(mark),
  }
  if (weCordon && node.marks.bootId === null) annotations[MARK_KEYS.bootId] = node.bootId ?? NO_BOOT_ID
  return {
    ...(weCordon && !node.unschedulable && job.how !== 'return' ? { unschedulable: true } : {}),
    labels: values.labels,
    annotations,
  }
}

/** From the node as it was before our patch, or, on a later attempt, from the marks that patch left. */
function baselineOf(node: NodeRecord, job: BatchNode, token: string): Baseline {
  const again = node.marks.attempt?.token === token
  const earlier = isMarked(node.marks) && !again
  const cordonedByUs = node.marks.bootId !== null
  return {
    bootId: job.how === 'return' ? (node.marks.bootId ?? node.marks.attempt?.bootId ?? null) : node.bootId,
    uid: node.uid,
    ephemeralStorageKiB: node.ephemeralStorageKiB,
    cordonedByOthers: node.unschedulable && !cordonedByUs,
    foundMarked: earlier,
    expectNewBoot: job.how !== 'return' || bootedSince(node),
    added: additionsFor(node, job).added,
  }
}
