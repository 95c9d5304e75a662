import { type Command, InvalidArgumentError } from 'commander'
import { connected } from './connected.js'
import { examples } from './examples.js'
import { EXIT, type Run } from './exit-codes.js'
import { type RolloutOptions, workflowIdOption } from './options.js'

interface SetOptions extends RolloutOptions {
  readonly pool?: string
}

export function addSetMaxUnavailable(program: Command, run: Run): void {
  program
    .command('set-max-unavailable')
    .description('change how many workers are taken at once, from the next batch on')
    .argument('<cluster>', 'name of the cluster')
    .argument('<count>', 'an integer of at least 1, or a percentage such as 25%', parseCount)
    .option('--pool <name>', 'of one worker pool; default: all of them')
    .addOption(workflowIdOption())
    .addHelpText(
      'after',
      examples({
        'noderoll set-max-unavailable prod-eu 25%': '',
        'noderoll set-max-unavailable prod-eu 2 --pool worker': '',
      }),
    )
    .action((cluster: string, maxUnavailable: number | string, _, command: Command) =>
      run(() => {
        const options = command.optsWithGlobals<SetOptions>()
        const pool = options.pool === undefined ? {} : { pool: options.pool }
        return connected(options, async ({ noderoll, output }) => {
          const rollout = noderoll.rollout(cluster, options.workflowId)
          const answer = await rollout.setMaxUnavailable({ ...pool, maxUnavailable })
          output.answer(answer, () => answer.inForce)
          return EXIT.done
        })
      }),
    )
}

function parseCount(text: string): number | string {
  if (/^[1-9]\d*$/.test(text)) return Number(text)
  if (/^([1-9]\d?|100)%$/.test(text)) return text
  throw new InvalidArgumentError('Write an integer of at least 1, or a percentage such as 25%.')
}
