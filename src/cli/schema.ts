import type { Command } from 'commander'
import { rolloutJsonSchema } from '../spec/schema.js'
import { examples } from './examples.js'
import { EXIT, type Run } from './exit-codes.js'
import type { GlobalOptions } from './options.js'
import { createOutput } from './output.js'

export function addSchema(program: Command, run: Run): void {
  program
    .command('schema')
    .description('print the JSON Schema of a spec, for editors and pipelines')
    .addHelpText('after', examples({ 'noderoll schema > rollout.schema.json': '' }))
    .action((_, command: Command) =>
      run(async () => {
        const schema = rolloutJsonSchema()
        const { output } = command.optsWithGlobals<GlobalOptions>()
        createOutput(output).answer(schema, () => JSON.stringify(schema, null, 2))
        return EXIT.done
      }),
    )
}
