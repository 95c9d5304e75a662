import { Argument, type Command } from 'commander'
import { bashScript, commandTree, fishScript, zshScript } from './completion-scripts.js'
import { examples } from './examples.js'
import { EXIT, type Run } from './exit-codes.js'

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const
type Shell = keyof typeof SCRIPTS

export function addCompletion(program: Command, run: Run): void {
  program
    .command('completion')
    .description('print what makes a shell complete commands and options')
    .addArgument(new Argument('<shell>', 'where it is used').choices(Object.keys(SCRIPTS)))
    .addHelpText(
      'after',
      examples({
        'source <(noderoll completion bash)  # in ~/.bashrc': '',
        'source <(noderoll completion zsh)   # in ~/.zshrc, after compinit': '',
        'noderoll completion fish > ~/.config/fish/completions/noderoll.fish': '',
      }),
    )
    .action((shell: Shell) =>
      run(async () => {
        process.stdout.write(`${SCRIPTS[shell](commandTree(program))}\n`)
        return EXIT.done
      }),
    )
}
