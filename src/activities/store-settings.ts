import type { WithSpec } from '../api/activities.js'
import { isAnothers } from '../core/record.js'
import { poolsToStore } from '../core/settings.js'
import type { World } from '../ports/connections.js'
import { attempting } from './attempt.js'
import { mustBeThisCluster, readFacts } from './facts.js'
import { holderOf, leaseLost, mustHoldLease } from './ours.js'
import { orFailure } from './port-failure.js'
import { updateRecord } from './update-record.js'

/** Stores the settings in force of every pool, one write (CKS-01, CKS-03). Whoever creates machines reads them there. */
export function storeSettings(world: World) {
  return async ({ spec, rollout }: WithSpec): Promise<void> =>
    attempting('settings', (attempt) =>
      orFailure(`storing the settings of ${spec.target.cluster}`, 'SettingsRefused', async () => {
        const connections = await world.connect(spec.target)
        await mustHoldLease(world, connections, { target: spec.target, rollout }, attempt)
        const facts = await readFacts(connections, spec.pools, 'now', attempt.signal)
        mustBeThisCluster(spec.target, facts)
        const holder = holderOf(world, rollout)
        await updateRecord(connections.records, attempt, (record) => {
          // The Lease was read a moment ago: whoever has taken it since has begun, and the record is theirs.
          if (isAnothers(record, holder)) throw leaseLost({ target: spec.target, rollout }, record.rollout)
          return {
            ...record,
            cluster: spec.target.cluster,
            identity: facts.identity,
            ...poolsToStore(facts.pools),
          }
        })
      }),
    )
}
