import type { Command } from 'commander'
import { connected } from './connected.js'
import { examples } from './examples.js'
import { EXIT, type Run } from './exit-codes.js'
import { type RolloutOptions, workflowIdOption } from './options.js'
import { progressText } from './progress-text.js'

export function addProgress(program: Command, run: Run): void {
  program
    .command('progress')
    .description('where a rollout stands: batch, step of each node, what blocks')
    .argument('<cluster>', 'name of the cluster')
    .addOption(workflowIdOption())
    .addHelpText(
      'after',
      examples({ 'noderoll progress prod-eu': '', 'noderoll progress prod-eu -o json | jq .nodes': '' }),
    )
    .action((cluster: string, _, command: Command) =>
      run(() => {
        const options = command.optsWithGlobals<RolloutOptions>()
        return connected(options, async ({ noderoll, output }) => {
          const progress = await noderoll.rollout(cluster, options.workflowId).progress()
          output.answer(progress, () => progressText(progress))
          return EXIT.done
        })
      }),
    )
}
