import type { WithSpec } from '../api/activities.js'
import { failure } from '../api/failures.js'
import type { Position } from '../core/batch.js'
import { nextBatch as decide, type NextBatch } from '../core/next-batch.js'
import { bounded, sayReasons } from '../core/progress.js'
import type { World } from '../ports/connections.js'
import { attempting } from './attempt.js'
import { withinSharedBudgets } from './budgets.js'
import { readFacts, rolloutFacts } from './facts.js'
import { holderOf, mustHoldLease } from './ours.js'
import { orFailure } from './port-failure.js'
import { waitFor } from './wait.js'

const SLOWEST_SECONDS = 5

/**
 * The next batch, from live facts (recorded: a newer planner never breaks a replay). Waits while a machine is on its way
 * somewhere or has not joined yet. Throws `PreflightFailed` when that takes longer than the preflight limit.
 */
export function nextBatch(world: World) {
  return async ({ spec, rollout, position }: WithSpec & { position: Position }): Promise<NextBatch> =>
    attempting('next batch', (attempt) =>
      orFailure(`planning the next batch of ${spec.target.cluster}`, 'PreflightFailed', async () => {
        const connections = await world.connect(spec.target)
        return waitFor<NextBatch>(attempt, {
          slowestSeconds: SLOWEST_SECONDS,
          limit: {
            seconds: spec.limits.preflightSeconds,
            fail: (why) =>
              failure(
                'PreflightFailed',
                `no batch can be planned, ${spec.limits.preflightSeconds} s long: ${sayReasons(why)}`,
              ),
          },
          look: async () => {
            // Whatever is done to a node is decided again on that node as it is then.
            const [facts] = await Promise.all([
              readFacts(connections, spec.pools, 'recent', attempt.signal),
              mustHoldLease(world, connections, { target: spec.target, rollout }, attempt),
            ])
            if (facts.problems.length > 0) {
              return { why: facts.problems.map((problem) => `${problem.where} ${problem.what}`) }
            }
            const holder = holderOf(world, rollout)
            const asked = { ...(await rolloutFacts(world, connections, spec, facts, attempt.signal)), holder }
            const next = decide(asked, position)
            if (next.kind === 'wait') return { why: next.why }
            const { skipped } = next.view
            const view = { ...next.view, skipped: bounded(skipped), skippedCount: skipped.length }
            if (next.kind === 'done') return { done: { ...next, view } }
            const { batch, notes } = await withinSharedBudgets(connections, next.batch, attempt.signal)
            return { done: { ...next, batch, view: { ...view, notes: [...view.notes, ...notes] } } }
          },
        })
      }),
    )
}
