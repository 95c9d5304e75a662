import type { Command } from 'commander'
import { rolloutJsonSchema } from '../spec/schema.js'
import { EXIT, type Run } from './exit-codes.js'
import type { GlobalOptions } from './options.js'
import { createOutput } from './output.js'

export function addSchema(program: Command, run: Run): void {
  program
    .command('schema')
    .description('print the JSON Schema of a spec, for editors and pipelines')
    .action((_, command: Command) =>
      run(async () => {
        const schema = rolloutJsonSchema()
        const { output } = command.optsWithGlobals<GlobalOptions>()
        createOutput(output).answer(schema, () => JSON.stringify(schema, null, 2))
        return EXIT.done
      }),
    )
}
