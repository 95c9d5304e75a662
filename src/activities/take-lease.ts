import type { InCluster } from '../api/activities.js'
import { failure } from '../api/failures.js'
import { capacityOf } from '../core/health.js'
import { parseHolder } from '../core/holder.js'
import { isLeftBehind, withoutHolder } from '../core/record.js'
import type { Connections, World } from '../ports/connections.js'
import { portErrorKind } from '../ports/errors.js'
import type { LeaseRecord } from '../ports/records.js'
import { type Attempt, attempting } from './attempt.js'
import { readFacts } from './facts.js'
import { holderOf } from './ours.js'
import { orFailure } from './port-failure.js'
import { updateRecord } from './update-record.js'

type LeaseInput = InCluster & { takeOver: string | null }

/**
 * Takes the Lease: the lock on the cluster, across Temporal namespaces and servers. Age alone never frees it (a pause, a
 * window or an outage keeps it for days); it is taken over only from an execution that the same server says is closed, or
 * when a person names the holder. `Updating` that a holder left behind is `Alert` from then on (CKS-07). Throws
 * `ClusterBusy` naming the holder, since when, and what to do.
 */
export function takeLease(world: World) {
  return async (input: LeaseInput): Promise<{ tookOver: boolean }> =>
    attempting('lease', (attempt) =>
      orFailure(`taking the lease of ${input.target.cluster}`, 'ClusterBusy', async () => {
        const connections = await world.connect(input.target)
        const tookOver = await takeIt(world, connections, input, attempt)
        await settleLeftBehind(connections, holderOf(world, input.rollout), attempt)
        return { tookOver }
      }),
    )
}

/** Throws `ClusterBusy` when somebody else has the Lease and is not known to be gone (CKS-23). Writes nothing. */
export async function mustNotBeBusy(
  world: World,
  connections: Connections,
  input: LeaseInput,
  attempt: Attempt,
): Promise<void> {
  const { value: lease } = await connections.records.lease(attempt.signal)
  if (lease.holder === null || lease.holder === holderOf(world, input.rollout)) return
  if (lease.holder !== input.takeOver && !(await isGone(world, lease.holder, attempt)))
    throw busy(input, lease)
}

/** Has this holder ended? Only the Temporal server it ran on can say so; for any other the answer is no. */
export async function isGone(world: World, text: string, attempt: Attempt): Promise<boolean> {
  const holder = parseHolder(text)
  const { executions } = world
  if (holder === null || holder.server !== executions.server || holder.namespace !== executions.namespace)
    return false
  return (await executions.chain(holder.workflowId, holder.firstRunId, attempt.signal)) === 'closed'
}

async function takeIt(
  world: World,
  connections: Connections,
  input: LeaseInput,
  attempt: Attempt,
): Promise<boolean> {
  const { records } = connections
  const holder = holderOf(world, input.rollout)
  const found = await records.lease(attempt.signal)
  // An earlier attempt wrote it and nobody knows whether it took over: waiting is the safe answer.
  if (found.value.holder === holder) return attempt.attempt > 1
  const tookOver = found.value.holder !== null
  if (tookOver) await mustNotBeBusy(world, connections, input, attempt)
  attempt.mayStillAct()
  try {
    const since = new Date().toISOString()
    await records.writeLease({ holder, since }, found.version, attempt.signal)
  } catch (error) {
    if (portErrorKind(error) !== 'conflict') throw error
    const now = await records.lease(attempt.signal)
    if (now.value.holder !== holder) throw busy(input, now.value)
  }
  return tookOver
}

/** The Lease is ours, so whoever set `Updating` is gone: someone has to look, and the machines are counted again. */
async function settleLeftBehind(connections: Connections, holder: string, attempt: Attempt): Promise<void> {
  const { value } = await connections.records.read(attempt.signal)
  if (!isLeftBehind(value, holder)) return
  const { members } = await readFacts(connections, [], 'now', attempt.signal)
  const capacity = capacityOf(members.map((member) => member.machine))
  await updateRecord(connections.records, attempt, (record) =>
    isLeftBehind(record, holder) ? withoutHolder(record, capacity) : record,
  )
}

function busy(input: LeaseInput, lease: LeaseRecord) {
  const holder = lease.holder ?? 'somebody who has just let go'
  return failure(
    'ClusterBusy',
    `cluster ${input.target.cluster} is held by ${holder} since ${lease.since ?? 'an unknown time'}; ` +
      `wait for it or cancel it. If that rollout is gone for good, run releaseCluster with {"takeOver": ${JSON.stringify(holder)}}`,
  )
}
