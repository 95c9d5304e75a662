import type { Command } from 'commander'
import { connected } from './connected.js'
import { examples } from './examples.js'
import { EXIT, type Run } from './exit-codes.js'
import { followRollout } from './follow-rollout.js'
import { byOption, type RolloutOptions, specFileOption, workflowIdOption } from './options.js'
import { readRollout } from './spec-file.js'
import { whoAmI } from './who.js'

const SPEC = `
A spec is YAML or JSON (docs/spec.md, noderoll schema):

  cluster: prod-eu
  kubernetes: { context: prod-eu }
  machines: { provider: azure-vm, subscriptionId: ..., resourceGroup: prod-eu }
  pools:
    worker: { offering: Standard_D8s_v5, maxUnavailable: 10% }
  rollout: true
`

interface StartOptions extends RolloutOptions {
  readonly file: string
  readonly watch?: true
  readonly by?: string
}

export function addStart(program: Command, run: Run): void {
  program
    .command('start')
    .description('start a rollout; fails when one of that cluster is running')
    .addOption(specFileOption())
    .option('-w, --watch', 'print what changes until it ends; the exit code says how it ended')
    .addOption(byOption('who starts it, for the record'))
    .addOption(workflowIdOption())
    .addHelpText(
      'after',
      SPEC +
        examples({
          'noderoll start --file rollout.yaml --watch': '',
          'noderoll start -f rollout.yaml -o json': 'for a script: the ids of the run',
        }),
    )
    .action((_, command: Command) => run(() => start(command.optsWithGlobals<StartOptions>())))
}

async function start(options: StartOptions) {
  const request = await readRollout(options.file)
  return connected(options, async ({ noderoll, settings, output }) => {
    const by = options.by ?? whoAmI()
    const rollout = await noderoll.startRollout(request, {
      ...(by === null ? {} : { by }),
      ...(options.workflowId === undefined ? {} : { workflowId: options.workflowId }),
    })
    const { cluster, workflowId, runId } = rollout
    const started = { kind: 'started', cluster, workflowId, runId }
    const text = `started ${workflowId} (run ${runId}) in namespace ${settings.namespace.value}`
    // It is started: not to know whether somebody works on it must not look like a failure.
    const mayBeWorkedOn = await noderoll.hasWorker().catch(() => true)
    if (!mayBeWorkedOn) {
      output.note(
        `noderoll: no worker is on the task queue ${settings.taskQueue.value} yet; it waits for one`,
      )
    }
    if (options.watch !== true) {
      output.answer(started, () => text)
      return EXIT.done
    }
    output.event(started, text)
    return followRollout(rollout, output)
  })
}
