import type { Command } from 'commander'
import { connected } from './connected.js'
import { examples } from './examples.js'
import { EXIT, type Run } from './exit-codes.js'
import type { RolloutOptions } from './options.js'
import { workflowIdOption } from './options.js'

export function addResume(program: Command, run: Run): void {
  program
    .command('resume')
    .description('go on after a pause')
    .argument('<cluster>', 'name of the cluster')
    .addOption(workflowIdOption())
    .addHelpText('after', examples({ 'noderoll resume prod-eu': '' }))
    .action((cluster: string, _, command: Command) =>
      run(() => {
        const options = command.optsWithGlobals<RolloutOptions>()
        return connected(options, async ({ noderoll, output }) => {
          const rollout = noderoll.rollout(cluster, options.workflowId)
          await rollout.resume()
          output.answer({ workflowId: rollout.workflowId, signal: 'resume' }, () => `${cluster} goes on`)
          return EXIT.done
        })
      }),
    )
}
