import type { ApplicationFailure } from '@temporalio/common'
import type { InCluster, RolloutId } from '../api/activities.js'
import { failure } from '../api/failures.js'
import { sayHolder } from '../core/holder.js'
import type { Connections, World } from '../ports/connections.js'
import type { Attempt } from './attempt.js'

/** The Lease holder this rollout is. */
export function holderOf(world: World, rollout: RolloutId): string {
  return sayHolder({ server: world.executions.server, namespace: world.executions.namespace, ...rollout })
}

/**
 * Throws `LeaseLost` unless the Lease, read afresh, names this rollout. Every step that takes something away asks this
 * first: after a takeover the old holder must not write a single thing.
 */
export async function mustHoldLease(
  world: World,
  connections: Connections,
  input: InCluster,
  attempt: Attempt,
): Promise<void> {
  const holder = holderOf(world, input.rollout)
  const lease = await connections.records.lease(attempt.signal)
  if (lease.value.holder !== holder) throw leaseLost(input, lease.value.holder)
}

/** The failure of a rollout whose cluster is another's now. */
export function leaseLost({ target }: InCluster, holder: string | null): ApplicationFailure {
  return failure(
    'LeaseLost',
    `cluster ${target.cluster} is held by ${holder ?? 'nobody'}, no longer by this rollout; it takes nothing from a node any more`,
  )
}
