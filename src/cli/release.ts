import type { Command } from 'commander'
import { connected } from './connected.js'
import { examples } from './examples.js'
import { EXIT, type Run } from './exit-codes.js'
import { type GlobalOptions, specFileOption } from './options.js'
import { releaseText } from './release-text.js'
import { readTarget } from './spec-file.js'

interface ReleaseOptions extends GlobalOptions {
  readonly file: string
  readonly takeOver?: string
}

export function addRelease(program: Command, run: Run): void {
  program
    .command('release')
    .description('put right what a terminated rollout has left behind')
    .addOption(specFileOption())
    .option('--take-over <holder>', 'the holder as printed, by which you vouch that it is gone for good')
    .addHelpText(
      'after',
      examples({
        'noderoll release --file rollout.yaml': '',
        "noderoll release -f rollout.yaml --take-over 'SERVER/NAMESPACE/ID/RUN'": '',
      }),
    )
    .action((_, command: Command) =>
      run(async () => {
        const { takeOver, ...options } = command.optsWithGlobals<ReleaseOptions>()
        const target = await readTarget(options.file)
        return connected(options, async ({ noderoll, output }) => {
          const released = await noderoll.releaseCluster(target, takeOver === undefined ? {} : { takeOver })
          output.answer(released, () => releaseText(target.cluster, released))
          return EXIT.done
        })
      }),
    )
}
