import type { WithSpec } from '../api/activities.js'
import { failure } from '../api/failures.js'
import type { ClusterRecord } from '../core/record.js'
import type { World } from '../ports/connections.js'
import { attempting } from './attempt.js'
import { holderOf, mustHoldLease } from './ours.js'
import { orFailure } from './port-failure.js'
import { updateRecord } from './update-record.js'

/**
 * Sets `Updating`, keeping what was there (CKS-07): what a rollout that is gone left behind is `Alert` since the Lease was
 * taken. A cluster in the middle of another provider operation is refused (CKS-02).
 */
export function beginRollout(world: World) {
  return async (input: WithSpec): Promise<void> =>
    attempting('begin', (attempt) =>
      orFailure(`beginning the rollout of ${input.spec.target.cluster}`, 'SettingsRefused', async () => {
        const { target } = input.spec
        const connections = await world.connect(target)
        const holder = holderOf(world, input.rollout)
        await mustHoldLease(world, connections, { target, rollout: input.rollout }, attempt)
        const operation = await connections.machines.clusterOperation(attempt.signal)
        if (operation !== null) {
          throw failure(
            'SettingsRefused',
            `cluster ${target.cluster} is in the middle of ${operation} at its provider; wait for its end, then ask again`,
          )
        }
        await updateRecord(connections.records, attempt, (record) => updating(record, holder))
      }),
    )
}

function updating(record: ClusterRecord, holder: string): ClusterRecord {
  if (record.rollout === holder && record.state === 'Updating') return record
  const { pools, poolOrder, lastError } = record
  const state = record.state === 'Updating' ? 'Alert' : record.state
  return {
    ...record,
    state: 'Updating',
    rollout: holder,
    before: { rollout: holder, state, pools, poolOrder, lastError },
  }
}
