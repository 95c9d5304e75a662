import { createRequire } from 'node:module'
import { Command, CommanderError } from 'commander'
import { addCancel } from './cancel.js'
import { addCompletion } from './completion.js'
import { examples } from './examples.js'
import { EXIT, EXIT_CODES_HELP, type ExitCode, type Run } from './exit-codes.js'
import { addGlobalOptions } from './options.js'
import { addPause } from './pause.js'
import { addPlan } from './plan.js'
import { addProgress } from './progress.js'
import { addRelease } from './release.js'
import { addResume } from './resume.js'
import { exitCodeOf, sayError } from './say-error.js'
import { addSchema } from './schema.js'
import { addSetMaxUnavailable } from './set-max-unavailable.js'
import { addStart } from './start.js'
import { addStatus } from './status.js'
import { foldLines } from './table.js'
import { terminalWidth } from './terminal.js'
import { addWatch } from './watch.js'
import { addWorker } from './worker.js'

const COMMANDS = [
  addStart,
  addPlan,
  addStatus,
  addProgress,
  addWatch,
  addPause,
  addResume,
  addCancel,
  addSetMaxUnavailable,
  addRelease,
  addSchema,
  addWorker,
  addCompletion,
]

/** One command line to its exit code; whatever goes wrong is said on stderr. */
export async function runCli(args: readonly string[]): Promise<ExitCode> {
  let code: ExitCode = EXIT.done
  const run: Run = async (act) => {
    code = await act()
  }
  try {
    await createProgram(run).parseAsync(args, { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage
    process.stderr.write(`${sayError(error)}\n`)
    return exitCodeOf(error)
  }
}

/** The whole command line; `run` decides whether a command does anything. */
export function createProgram(run: Run): Command {
  const { version } = createRequire(import.meta.url)('../../package.json') as { version: string }
  const program = new Command('noderoll')
    .description('Rolls the nodes of Kubernetes clusters, each cluster as one durable Temporal workflow')
    .version(version)
    .exitOverride()
    .configureHelp({ showGlobalOptions: true, subcommandTerm: (command) => command.name() })
    .addHelpText(
      'after',
      examples({
        'noderoll plan --file rollout.yaml': 'reads only',
        'noderoll start --file rollout.yaml --watch': '',
        'noderoll cancel prod-eu': '',
      }),
    )
    .addHelpText('after', EXIT_CODES_HELP)
  addGlobalOptions(program)
  for (const add of COMMANDS) add(program, run)
  for (const command of [program, ...program.commands]) {
    command.configureOutput({
      outputError: (text, write) => write(`${sayUsageError(text, command)}\n`),
    })
  }
  return program
}

/** Commander's words in one sentence, which ends with what to do. */
function sayUsageError(text: string, command: Command): string {
  const [what = '', guess] = text
    .replace(/^error: /, '')
    .trim()
    .split('\n')
  const names = [...(command.parent === null ? [] : [command.parent.name()]), command.name()].join(' ')
  const todo =
    guess === undefined ? `see: ${names} --help` : guess.replace(/^\(Did/, 'did').replace(/\)$/, '')
  const sentence = `noderoll: ${what.replace(/\.$/, '')}; ${todo}`
  return foldLines(sentence, terminalWidth(process.stderr))
}
