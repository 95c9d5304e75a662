import type { InCluster } from '../api/activities.js'
import { failure } from '../api/failures.js'
import { parseHolder } from '../core/holder.js'
import type { World } from '../ports/connections.js'
import { portErrorKind } from '../ports/errors.js'
import type { LeaseRecord } from '../ports/records.js'
import { type Attempt, attempting } from './attempt.js'
import { holderOf } from './ours.js'
import { orFailure } from './port-failure.js'

/**
 * Takes the Lease: the lock on the cluster, across Temporal namespaces and servers. Age alone never frees it (a pause, a
 * window or an outage keeps it for days); it is taken over only from an execution that the same server says is closed, or
 * when a person names the holder. Throws `ClusterBusy` naming the holder, since when, and what to do.
 */
export function takeLease(world: World) {
  return async (input: InCluster & { takeOver: string | null }): Promise<{ tookOver: boolean }> =>
    attempting('lease', (attempt) =>
      orFailure(`taking the lease of ${input.target.cluster}`, 'ClusterBusy', async () => {
        const { records } = await world.connect(input.target)
        const holder = holderOf(world, input.rollout)
        const found = await records.lease(attempt.signal)
        const tookOver = found.value.holder !== null && found.value.holder !== holder
        // An earlier attempt wrote it and nobody knows whether it took over: waiting is the safe answer.
        if (found.value.holder === holder) return { tookOver: attempt.attempt > 1 }
        if (tookOver) await mayTakeOver(world, input, found.value, attempt)
        attempt.mayStillAct()
        try {
          const since = new Date().toISOString()
          await records.writeLease({ holder, since }, found.version, attempt.signal)
        } catch (error) {
          if (portErrorKind(error) !== 'conflict') throw error
          const now = await records.lease(attempt.signal)
          if (now.value.holder !== holder) throw busy(input, now.value)
        }
        return { tookOver }
      }),
    )
}

async function mayTakeOver(
  world: World,
  input: InCluster & { takeOver: string | null },
  lease: LeaseRecord,
  attempt: Attempt,
): Promise<void> {
  if (lease.holder !== null && lease.holder === input.takeOver) return
  const holder = lease.holder === null ? null : parseHolder(lease.holder)
  const { server, namespace, chain } = world.executions
  if (holder === null || holder.server !== server || holder.namespace !== namespace) throw busy(input, lease)
  const state = await chain.call(world.executions, holder.workflowId, holder.firstRunId, attempt.signal)
  if (state === 'open') throw busy(input, lease)
}

function busy(input: InCluster, lease: LeaseRecord) {
  const holder = lease.holder ?? 'somebody who has just let go'
  return failure(
    'ClusterBusy',
    `cluster ${input.target.cluster} is held by ${holder} since ${lease.since ?? 'an unknown time'}; ` +
      `wait for it or cancel it. If that rollout is gone for good, run releaseCluster with {"takeOver": ${JSON.stringify(holder)}}`,
  )
}
