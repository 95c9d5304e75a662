import type { PlanReport } from '../api/activities.js'
import { type Batch, batchNodeName, START_POSITION } from '../core/batch.js'
import { cannotProve } from '../core/check-settings.js'
import { countPools } from '../core/next-batch.js'
import { planRollout } from '../core/plan.js'
import { bounded, MOST_NAMES } from '../core/progress.js'
import type { RolloutSpec } from '../core/spec.js'
import type { World } from '../ports/connections.js'
import { attempting } from './attempt.js'
import { budgetsInPlan } from './budgets.js'
import {
  goingLast,
  judgedFacts,
  notThisCluster,
  readFacts,
  rolloutFacts,
  settingsVerdict,
  withoutEtcd,
} from './facts.js'
import { orFailure } from './port-failure.js'
import { selfHostingRefusals } from './self-hosting.js'

const ONLY_STORED =
  'rollout is false: the settings would only be stored, and the batches are what rollout: true would do'

/** The whole rollout as it would go if every batch succeeds: reads only, no Lease (`planRollout`). */
export function readPlan(world: World) {
  return async ({ spec }: { spec: RolloutSpec }): Promise<PlanReport> =>
    attempting('plan', (attempt) =>
      orFailure(`planning ${spec.target.cluster}`, 'SettingsRefused', async () => {
        const connections = await world.connect(spec.target)
        const facts = await readFacts(connections, spec.pools, 'recent', attempt.signal)
        const verdict = await settingsVerdict(connections, facts, spec.rollout, attempt.signal)
        const forBatches = spec.rollout
          ? judgedFacts(spec, facts, verdict, await goingLast(world, connections, facts, attempt.signal))
          : await rolloutFacts(world, connections, spec, facts, attempt.signal)
        const plan = planRollout(forBatches, START_POSITION)
        const operation = await connections.machines.clusterOperation(attempt.signal)
        const budgets = await budgetsInPlan(connections, plan.batches, attempt.signal)
        const starts = plan.batches.flatMap((batch) => batch.nodes.filter((node) => node.how === 'start'))
        return {
          cluster: spec.target.cluster,
          batches: withinNames(plan.batches),
          batchCount: plan.batches.length,
          nodeCount: plan.batches.reduce((sum, batch) => sum + batch.nodes.length, 0),
          startsStopped: bounded(starts.map((node) => `${batchNodeName(node)} (${node.why})`)),
          skipped: bounded(plan.skipped),
          notes: bounded([
            ...(spec.rollout ? [] : [ONLY_STORED]),
            ...plan.notes,
            ...budgets.notes,
            ...verdict.warnings,
            ...plan.waitsFor.map((why) => `waits for: ${why}`),
            ...facts.unclaimed.map(
              (machine) =>
                `machine ${machine.name} is stopped, has no Node and is in no pool: it is left alone`,
            ),
          ]),
          warnings: bounded(budgets.warnings),
          refusals: bounded([
            ...(operation === null ? [] : [`the provider says: ${operation}`]),
            ...notThisCluster(spec.target, facts),
            ...withoutEtcd(spec.target, facts),
            ...verdict.problems.map((problem) => `${problem.where}: ${problem.what}; ${problem.fix}`),
            ...cannotProve(facts.members, facts.pools),
            ...(await selfHostingRefusals(world, connections, spec, facts, attempt.signal)),
          ]),
          pools: countPools(forBatches),
        }
      }),
    )
}

/** The first batches, until a hundred nodes are named: a plan of thousands stays a small payload. */
function withinNames(batches: readonly Batch[]): PlanReport['batches'] {
  const named: PlanReport['batches'][number][] = []
  let left = MOST_NAMES
  for (const batch of batches) {
    if (left <= 0) break
    const nodes = batch.nodes.slice(0, left).map((node) => `${batchNodeName(node)}: ${node.why}`)
    left -= nodes.length
    named.push({ pool: batch.pool, recovery: batch.recovery, nodes })
  }
  return named
}
