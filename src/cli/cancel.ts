import type { Command } from 'commander'
import { connected } from './connected.js'
import { examples } from './examples.js'
import { EXIT, type Run } from './exit-codes.js'
import { byOption, type RolloutOptions, workflowIdOption } from './options.js'
import { whoAmI } from './who.js'

interface CancelOptions extends RolloutOptions {
  readonly now?: true
  readonly by?: string
}

export function addCancel(program: Command, run: Run): void {
  program
    .command('cancel')
    .description('stop between two batches, and put everything right')
    .argument('<cluster>', 'name of the cluster')
    .option('--now', 'also undo a batch that has not acted on a machine yet')
    .addOption(byOption('who cancels, for lastError'))
    .addOption(workflowIdOption())
    .addHelpText(
      'after',
      examples({
        'noderoll cancel prod-eu': 'the batch at work is finished first',
        'noderoll cancel prod-eu --now': 'a batch that has not acted yet is undone',
      }),
    )
    .action((cluster: string, _, command: Command) =>
      run(() => {
        const options = command.optsWithGlobals<CancelOptions>()
        return connected(options, async ({ noderoll, output }) => {
          const rollout = noderoll.rollout(cluster, options.workflowId)
          const now = options.now ?? false
          const by = options.by ?? whoAmI()
          await rollout.cancel({ now, ...(by === null ? {} : { by }) })
          output.answer({ workflowId: rollout.workflowId, signal: 'cancel', now, by }, () =>
            now
              ? `${cluster} stops: a batch that has not stopped a machine yet is undone, one that has is finished first`
              : `${cluster} stops after the batch it is in`,
          )
          return EXIT.done
        })
      }),
    )
}
