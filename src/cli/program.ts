import { createRequire } from 'node:module'
import { Command, CommanderError } from 'commander'
import { addCancel } from './cancel.js'
import { EXIT, type ExitCode, type Run } from './exit-codes.js'
import { addGlobalOptions } from './options.js'
import { foldLines } from './output.js'
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
    process.stderr.write(`${foldLines(sayError(error), terminalWidth(process.stderr))}\n`)
    return exitCodeOf(error)
  }
}

function createProgram(run: Run): Command {
  const { version } = createRequire(import.meta.url)('../../package.json') as { version: string }
  const program = new Command('noderoll')
    .description('Rolls the nodes of Kubernetes clusters, each cluster as one durable Temporal workflow')
    .version(version)
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error:/, 'noderoll:')) })
  addGlobalOptions(program)
  for (const add of COMMANDS) add(program, run)
  return program
}
