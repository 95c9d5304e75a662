import type { ConnectionSettings, Sources } from '../client/connection-settings.js'
import type { NoderollClient } from '../client/noderoll-client.js'
import { NoderollError } from '../client/noderoll-error.js'
import type { Problem } from '../core/model.js'
import { sayProblems } from '../spec/parse.js'
import type { ExitCode } from './exit-codes.js'
import type { GlobalOptions } from './options.js'
import { createOutput, type Output } from './output.js'

export interface Session {
  readonly noderoll: NoderollClient
  readonly settings: ConnectionSettings
  readonly output: Output
}

/** Runs a command that talks to Temporal, and closes the connection after it. */
export async function connected(
  options: GlobalOptions,
  act: (session: Session) => Promise<ExitCode>,
): Promise<ExitCode> {
  // The SDK takes longer to load than most commands to run: those without it, and `--help`, do not wait for it.
  const [{ connectionSettings }, { connectClient }, { NoderollClient }] = await Promise.all([
    import('../client/connection-settings.js'),
    import('../client/connect.js'),
    import('../client/noderoll-client.js'),
  ])
  const output = createOutput(options.output)
  const checked = connectionSettings(sourcesOf(options))
  if (!checked.ok) throw unusable(checked.problems)
  const settings = checked.value
  for (const note of settings.notes) output.note(`noderoll: ${note}`)
  const client = await connectClient(settings)
  try {
    const noderoll = new NoderollClient({ client, taskQueue: settings.taskQueue.value })
    return await act({ noderoll, settings, output })
  } finally {
    await client.connection.close()
  }
}

export function sourcesOf(options: GlobalOptions): Sources {
  return { options, env: process.env, folder: process.cwd() }
}

export function unusable(problems: readonly Problem[]): NoderollError {
  return new NoderollError('usage', `the settings cannot be used: ${sayProblems(problems)}`, { problems })
}
