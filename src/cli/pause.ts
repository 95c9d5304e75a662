import type { Command } from 'commander'
import { connected } from './connected.js'
import { examples } from './examples.js'
import { EXIT, type Run } from './exit-codes.js'
import type { RolloutOptions } from './options.js'
import { workflowIdOption } from './options.js'

export function addPause(program: Command, run: Run): void {
  program
    .command('pause')
    .description('pause before the next batch; the cluster stays held')
    .argument('<cluster>', 'name of the cluster')
    .addOption(workflowIdOption())
    .addHelpText('after', examples({ 'noderoll pause prod-eu': 'and later: noderoll resume prod-eu' }))
    .action((cluster: string, _, command: Command) =>
      run(() => {
        const options = command.optsWithGlobals<RolloutOptions>()
        return connected(options, async ({ noderoll, output }) => {
          const rollout = noderoll.rollout(cluster, options.workflowId)
          await rollout.pause()
          output.answer(
            { workflowId: rollout.workflowId, signal: 'pause' },
            () => `${cluster} pauses before its next batch`,
          )
          return EXIT.done
        })
      }),
    )
}
