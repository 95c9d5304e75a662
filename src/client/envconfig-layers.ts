import { existsSync } from 'node:fs'
import { loadClientConfigProfile } from '@temporalio/envconfig'
import type { Problem } from '../core/model.js'
import type { Parsed } from '../spec/parse.js'
import type { Layer, Variables } from './setting.js'

/** What `TEMPORAL_*` variables and the TOML profile say, each on its own; read by Temporal's own reader. */
export function readEnvconfig(
  env: Variables,
): Parsed<{ readonly variables: readonly Layer[]; readonly profile: Layer | null }> {
  const given = present(env)
  const problems = checkVariables(given)
  const profile = readProfile(given)
  if (!profile.ok) problems.push(...profile.problems)
  if (!profile.ok || problems.length > 0) return { ok: false, problems }
  return { ok: true, value: { variables: readVariables(given), profile: profile.value } }
}

/** A layer for each variable, so that each value can say which one it came from. */
function readVariables(env: Record<string, string>): Layer[] {
  const { address, namespace, apiKey, tls } = loadClientConfigProfile({
    disableFile: true,
    overrideEnvVars: env,
  })
  // Metadata is merged name by name: a variable can also take away what the profile has.
  const { grpcMeta } = Object.keys(env).some((name) => name.startsWith('TEMPORAL_GRPC_META_'))
    ? loadClientConfigProfile({ overrideEnvVars: env })
    : {}
  const taskQueue = env.NODEROLL_TASK_QUEUE
  return [
    ...(address === undefined ? [] : [{ from: 'TEMPORAL_ADDRESS', address }]),
    ...(namespace === undefined ? [] : [{ from: 'TEMPORAL_NAMESPACE', namespace }]),
    ...(taskQueue === undefined ? [] : [{ from: 'NODEROLL_TASK_QUEUE', taskQueue }]),
    ...(apiKey === undefined ? [] : [{ from: 'TEMPORAL_API_KEY', apiKey }]),
    ...(tls === undefined ? [] : [{ from: 'TEMPORAL_TLS*', tls }]),
    ...(grpcMeta === undefined ? [] : [{ from: 'TEMPORAL_GRPC_META_*', grpcMeta }]),
  ]
}

/** An empty variable is one that is not set: manifests are full of them. Only for metadata does it mean "without". */
function present(env: Variables): Record<string, string> {
  const entries = Object.entries(env).flatMap(([name, value]): [string, string][] =>
    value === undefined || (value === '' && !name.startsWith('TEMPORAL_GRPC_META_')) ? [] : [[name, value]],
  )
  return Object.fromEntries(entries)
}

function checkVariables(env: Readonly<Record<string, string>>): Problem[] {
  const problems: Problem[] = []
  const { TEMPORAL_TLS: tls, TEMPORAL_CONFIG_FILE: file } = env
  // Temporal's reader takes everything but these two words for "off", `TRUE` as well.
  if (tls !== undefined && !['true', 'false', '1', '0'].includes(tls)) {
    problems.push({ where: 'TEMPORAL_TLS', what: `is ${tls}`, fix: 'write true or false' })
  }
  if (['1', 'true'].includes(env.TEMPORAL_TLS_DISABLE_HOST_VERIFICATION ?? '')) {
    problems.push({
      where: 'TEMPORAL_TLS_DISABLE_HOST_VERIFICATION',
      what: 'has no effect: the SDK always verifies',
      fix: 'set TEMPORAL_TLS_SERVER_NAME or TEMPORAL_TLS_SERVER_CA_CERT_PATH',
    })
  }
  // Its reader also takes a file that is not there for an empty one, and goes to localhost.
  if (file !== undefined && !existsSync(file)) {
    problems.push({
      where: 'TEMPORAL_CONFIG_FILE',
      what: `names ${file}, which does not exist`,
      fix: 'correct it',
    })
  }
  for (const kind of ['CLIENT_CERT', 'CLIENT_KEY', 'SERVER_CA_CERT']) {
    const [path, data] = [`TEMPORAL_TLS_${kind}_PATH`, `TEMPORAL_TLS_${kind}_DATA`]
    if (env[path] !== undefined && env[data] !== undefined) {
      problems.push({ where: path, what: `and ${data} are both set`, fix: 'unset one of them' })
    }
  }
  return problems
}

function readProfile(env: Record<string, string>): Parsed<Layer | null> {
  const name = env.TEMPORAL_PROFILE ?? 'default'
  const file = env.TEMPORAL_CONFIG_FILE ?? 'temporal.toml in your configuration folder'
  try {
    const read = loadClientConfigProfile({ disableEnv: true, overrideEnvVars: env })
    const empty = Object.keys(read).length === 0
    return { ok: true, value: empty ? null : { ...read, from: `profile ${name} of ${file}` } }
  } catch (error) {
    const [line] = String(error instanceof Error ? error.message : error).split('\n')
    // A file without any profile makes Temporal's reader stumble rather than say so.
    const what = error instanceof TypeError ? 'has no profile' : `cannot be used: ${line}`
    return {
      ok: false,
      problems: [{ where: file, what, fix: `write a section [profile.${name}], or set TEMPORAL_PROFILE` }],
    }
  }
}
