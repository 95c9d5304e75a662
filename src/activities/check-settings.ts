import type { WithSpec } from '../api/activities.js'
import { failure } from '../api/failures.js'
import { cannotProve } from '../core/check-settings.js'
import type { World } from '../ports/connections.js'
import { attempting } from './attempt.js'
import { mustBeThisCluster, readFacts, refusalSentence, settingsVerdict, withoutEtcd } from './facts.js'
import { orFailure } from './port-failure.js'
import { selfHostingRefusals } from './self-hosting.js'
import { mustNotBeBusy } from './take-lease.js'

/**
 * Reads the cluster and refuses what cannot be (CKS-00, 02, 04, 05, 14), naming every problem at once. Writes nothing:
 * it runs before the first write, and again under the Lease. A cluster that somebody holds is `ClusterBusy` first: what
 * does not fit in it may be the work of that rollout (CKS-23).
 */
export function checkSettings(world: World) {
  return async ({ spec, rollout }: WithSpec): Promise<void> =>
    attempting('settings', (attempt) =>
      orFailure(`checking the settings of ${spec.target.cluster}`, 'SettingsRefused', async () => {
        const connections = await world.connect(spec.target)
        await mustNotBeBusy(world, connections, { target: spec.target, rollout, takeOver: null }, attempt)
        const operation = await connections.machines.clusterOperation(attempt.signal)
        // Once a rollout, and so that what was done to the cluster before it was asked for counts in every batch, too.
        const facts = await readFacts(connections, spec.pools, 'now', attempt.signal)
        mustBeThisCluster(spec.target, facts)
        const verdict = await settingsVerdict(connections, facts, spec.rollout, attempt.signal)
        const problems = verdict.problems.map(
          (problem) => `${problem.where}: ${problem.what}; ${problem.fix}`,
        )
        problems.push(...withoutEtcd(spec.target, facts))
        if (spec.rollout) problems.push(...cannotProve(facts.members, facts.pools))
        problems.push(...(await selfHostingRefusals(world, connections, spec, facts, attempt.signal)))
        if (operation !== null) problems.unshift(`the provider says: ${operation}; wait for its end`)
        if (problems.length > 0) {
          throw failure('SettingsRefused', refusalSentence(spec.target.cluster, problems), problems)
        }
      }),
    )
}
