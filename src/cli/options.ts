import { type Command, Option } from 'commander'
import { FORMATS, type Format } from './output.js'

/** Options of every command; where Temporal is, from the command line. */
export interface GlobalOptions {
  readonly env?: string
  readonly envFile?: string
  readonly address?: string
  readonly namespace?: string
  readonly taskQueue?: string
  readonly output: Format
}

export function addGlobalOptions(program: Command): void {
  program
    .option('--env <name>', 'environment of temporal.yaml (TEMPORAL_ENV)')
    .option('--env-file <path>', 'instead of ./temporal.yaml (TEMPORAL_ENV_FILE)')
    .option('--address <host:port>', 'Temporal server (TEMPORAL_ADDRESS)')
    .option('--namespace <name>', 'Temporal namespace (TEMPORAL_NAMESPACE)')
    .option('--task-queue <name>', 'task queue of the workers (NODEROLL_TASK_QUEUE)')
    .addOption(new Option('-o, --output <format>', 'of what is answered').choices(FORMATS).default('text'))
}

export const specFileOption = () =>
  new Option('-f, --file <path>', 'spec, YAML or JSON; - for stdin').makeOptionMandatory()

export const workflowIdOption = () =>
  new Option('--workflow-id <id>', 'of a rollout that was started with an id of its own')

export const byOption = (what: string) =>
  new Option('--by <name>', `${what}; default: the name of the user that runs this`)

/** Of every command that names a running rollout. */
export interface RolloutOptions extends GlobalOptions {
  readonly workflowId?: string
}
