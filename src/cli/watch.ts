import type { Command } from 'commander'
import { connected } from './connected.js'
import { examples } from './examples.js'
import type { Run } from './exit-codes.js'
import { followRollout } from './follow-rollout.js'
import { type RolloutOptions, workflowIdOption } from './options.js'

export function addWatch(program: Command, run: Run): void {
  program
    .command('watch')
    .description('print what changes until the rollout ends; the exit code says how it ended')
    .argument('<cluster>', 'name of the cluster')
    .addOption(workflowIdOption())
    .addHelpText(
      'after',
      examples({
        'noderoll watch prod-eu': 'Ctrl-C ends only the watching',
        'noderoll watch prod-eu | tee rollout.log': 'a line for each change',
      }),
    )
    .action((cluster: string, _, command: Command) =>
      run(() => {
        const options = command.optsWithGlobals<RolloutOptions>()
        return connected(options, ({ noderoll, output }) =>
          followRollout(noderoll.rollout(cluster, options.workflowId), output),
        )
      }),
    )
}
