import { type Command, InvalidArgumentError } from 'commander'
import { connected } from './connected.js'
import { examples } from './examples.js'
import { EXIT, type Run } from './exit-codes.js'
import { type GlobalOptions, specFileOption } from './options.js'
import { readTarget } from './spec-file.js'
import { statusText } from './status-text.js'

interface StatusOptions extends GlobalOptions {
  readonly file: string
  readonly page: number
}

export function addStatus(program: Command, run: Run): void {
  program
    .command('status')
    .description('a cluster as it is: state, settings, what is out of date, who holds it')
    .addOption(specFileOption())
    .option('--page <number>', 'names come by the hundred', parsePage, 0)
    .addHelpText(
      'after',
      examples({
        'noderoll status --file rollout.yaml': '',
        'noderoll status -f rollout.yaml -o json | jq .state': '',
      }),
    )
    .action((_, command: Command) =>
      run(async () => {
        const options = command.optsWithGlobals<StatusOptions>()
        const target = await readTarget(options.file)
        return connected(options, async ({ noderoll, output }) => {
          const status = await noderoll.clusterStatus(target, options.page)
          output.answer(status, () => statusText(status))
          return EXIT.done
        })
      }),
    )
}

function parsePage(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('Pages count from 0.')
  return Number(text)
}
