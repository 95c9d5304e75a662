import type { Command } from 'commander'
import { sourcesOf, unusable } from './connected.js'
import { examples } from './examples.js'
import { EXIT, type Run } from './exit-codes.js'
import type { GlobalOptions } from './options.js'

interface WorkerOptions extends GlobalOptions {
  readonly writeBundle?: string
  readonly activitiesPerSecond?: string
}

export function addWorker(program: Command, run: Run): void {
  program
    .command('worker')
    .description('work on the task queue until SIGTERM or SIGINT')
    .option('--write-bundle <file>', 'only bundle the workflow code into a file (NODEROLL_WORKFLOW_BUNDLE)')
    .option(
      '--activities-per-second <number>',
      'steps that all workers of this task queue begin together (NODEROLL_ACTIVITIES_PER_SECOND)',
    )
    .addHelpText(
      'after',
      examples({ 'noderoll worker --env prod': '', 'NODEROLL_HEALTH_PORT=8080 noderoll worker': '' }),
    )
    .action((_, command: Command) =>
      run(async () => {
        const options = command.optsWithGlobals<WorkerOptions>()
        if (options.writeBundle !== undefined) {
          const { writeBundle } = await import('../worker/bundle.js')
          await writeBundle(options.writeBundle)
          return EXIT.done
        }
        const { workerConfig } = await import('../worker/config.js')
        const config = workerConfig({ ...sourcesOf(options), options })
        if (!config.ok) throw unusable(config.problems)
        for (const note of config.value.connection.notes) process.stderr.write(`noderoll: ${note}\n`)
        const { runWorker } = await import('../worker/run.js')
        await runWorker(config.value)
        return EXIT.done
      }),
    )
}
