import type { InCluster } from '../api/activities.js'
import type { ClusterRecord } from '../core/record.js'
import type { World } from '../ports/connections.js'
import type { Records } from '../ports/records.js'
import { type Attempt, attempting } from './attempt.js'
import { holderOf } from './ours.js'
import { orFailure } from './port-failure.js'
import { updateRecord } from './update-record.js'

/** Ends a rollout that touched no node: record as found (CKS-07) when `putBack`, then the Lease. Safe to run twice. */
export function letGo(world: World) {
  return async (input: InCluster & { putBack: boolean }): Promise<void> =>
    attempting('lease', (attempt) =>
      orFailure(`letting go of ${input.target.cluster}`, 'ReleaseIncomplete', async () => {
        const { records } = await world.connect(input.target)
        const holder = holderOf(world, input.rollout)
        const lease = await records.lease(attempt.signal)
        if (lease.value.holder !== holder) return
        if (input.putBack) await updateRecord(records, attempt, (record) => asBefore(record, holder))
        await freeLease(records, holder, attempt)
      }),
    )
}

/** Frees the Lease if it is ours. */
export async function freeLease(records: Records, holder: string, attempt: Attempt): Promise<void> {
  const lease = await records.lease(attempt.signal)
  if (lease.value.holder !== holder) return
  attempt.mayStillAct()
  await records.writeLease({ holder: null, since: null }, lease.version, attempt.signal)
}

function asBefore(record: ClusterRecord, holder: string): ClusterRecord {
  const { before } = record
  if (before === null || before.rollout !== holder) return record
  const { state, pools, poolOrder, lastError } = before
  return { ...record, state, pools, poolOrder, lastError, rollout: null, before: null }
}
