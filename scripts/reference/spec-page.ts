import { readFile } from 'node:fs/promises'
import { writtenJsonSchema } from '../../src/spec/json-schema.js'
import { rolloutSchema, targetSchema } from '../../src/spec/schema.js'
import { CONTROL_PLANES, MACHINES } from '../../src/worker/world.js'
import { tablesOf } from './tables.js'

const EXAMPLE = new URL('../../docs/example-spec.yaml', import.meta.url)

/** The text of docs/spec.md: what the schemas of the spec and of the providers' options say, and nothing else. */
export async function specPage(): Promise<string> {
  const example = (await readFile(EXAMPLE, 'utf8')).trimEnd()
  // The target is in the rollout's tables already.
  const onlyTarget = targetSchema
    .pick({ takeOver: true, page: true })
    .describe(
      '`cluster`, `kubernetes`, `machines` and `etcd` are as above, and `noderoll release` and `noderoll status` pick them out of a spec; these are left',
    )
  return `# The spec

Made by \`npm run docs\` from the schemas in \`src\`; change the descriptions there.

A spec is YAML or JSON. Everything that has a default can be left out; a field that is not listed here is refused, and all mistakes are named
at once. A *duration* is text such as \`90s\`, \`15m\` or \`6h\`, or a number of seconds. \`noderoll schema\` prints the same as JSON Schema, for editors.

\`\`\`yaml
${example}
\`\`\`

${tablesOf(writtenJsonSchema(rolloutSchema), 'The rollout: `clusterRollout`, `planRollout`')}

${tablesOf(writtenJsonSchema(onlyTarget), 'The target: `releaseCluster`, `clusterStatus`')}

${providerTables('machines', MACHINES)}

${providerTables('etcd', CONTROL_PLANES)}
`
}

function providerTables(where: string, providers: typeof MACHINES | typeof CONTROL_PLANES): string {
  return Object.entries(providers)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { options }]) =>
      tablesOf(writtenJsonSchema(options), `\`${where}\` with \`provider: ${name}\``, where),
    )
    .join('\n\n')
}
