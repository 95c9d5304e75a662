import type { Command } from 'commander'
import type { PlanReport } from '../api/activities.js'
import { NoderollError } from '../client/noderoll-error.js'
import { connected, type Session } from './connected.js'
import { examples } from './examples.js'
import { EXIT, type Run } from './exit-codes.js'
import { type RolloutOptions, specFileOption, workflowIdOption } from './options.js'
import { planText } from './plan-text.js'
import { readRollout } from './spec-file.js'

interface PlanOptions extends RolloutOptions {
  readonly file?: string
}

export function addPlan(program: Command, run: Run): void {
  program
    .command('plan')
    .description('what a spec would do, without doing it; or with a cluster, what its rollout set out to do')
    .argument('[cluster]', 'name of the cluster that is being rolled')
    .addOption(specFileOption().makeOptionMandatory(false))
    .addOption(workflowIdOption())
    .addHelpText(
      'after',
      examples({
        'noderoll plan --file rollout.yaml': 'what start would do',
        'noderoll plan prod-eu': 'what the running rollout set out to do',
      }),
    )
    .action((cluster: string | undefined, _, command: Command) =>
      run(async () => {
        const options = command.optsWithGlobals<PlanOptions>()
        const read = await planReader(cluster, options)
        return connected(options, async (session) => {
          const plan = await read(session)
          session.output.answer(plan, () => planText(plan))
          return plan.refusals.length > 0 ? EXIT.refused : EXIT.done
        })
      }),
    )
}

async function planReader(
  cluster: string | undefined,
  { file, workflowId }: PlanOptions,
): Promise<(session: Session) => Promise<PlanReport>> {
  if ((cluster === undefined) === (file === undefined)) {
    throw new NoderollError('usage', 'plan takes either --file with a spec or the name of a cluster')
  }
  if (cluster === undefined) {
    const request = await readRollout(file ?? '')
    return ({ noderoll }) => noderoll.planRollout(request)
  }
  return async ({ noderoll }) => {
    const plan = await noderoll.rollout(cluster, workflowId).plan()
    if (plan === null)
      throw new NoderollError('notFound', `the rollout of ${cluster} has no plan yet; try again`)
    return plan
  }
}
