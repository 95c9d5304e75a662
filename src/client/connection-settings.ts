import { type ClientConfigTLS, type ClientConnectConfig, toClientOptions } from '@temporalio/envconfig'
import type { Problem } from '../core/model.js'
import type { Parsed } from '../spec/parse.js'
import { readEnvconfig } from './envconfig-layers.js'
import { firstOf, type Layer, type Setting, type Variables } from './setting.js'
import { readEnvironment } from './temporal-yaml.js'

/** What was typed on the command line. */
export interface ConnectionOptions {
  readonly env?: string
  readonly envFile?: string
  readonly address?: string
  readonly namespace?: string
  readonly taskQueue?: string
}

export interface Sources {
  readonly options: ConnectionOptions
  readonly env: Variables
  /** Where `temporal.yaml` is looked for. */
  readonly folder: string
}

/** How Temporal is reached: complete, checked, and readable. */
export interface ConnectionSettings {
  readonly address: Setting<string>
  readonly namespace: Setting<string>
  readonly taskQueue: Setting<string>
  /** As `Connection.connect` and `NativeConnection.connect` take them. Holds the secrets; never print it. */
  readonly connectionOptions: ClientConnectConfig['connectionOptions']
  /** Every setting and its origin, fit for a log: of secrets only that there is one. */
  readonly described: readonly (Setting<string> & { readonly name: string })[]
  /** What whoever gave them may not have meant: a chosen environment that is overruled, a key that goes unencrypted. */
  readonly notes: readonly string[]
}

export type Checked<T> = Parsed<T>

const DEFAULTS: Layer = {
  from: 'default',
  address: '127.0.0.1:7233',
  namespace: 'default',
  taskQueue: 'noderoll',
}

/**
 * Command line, then variables, then TOML profile, then `temporal.yaml`, then defaults; each value for itself. Names all
 * mistakes at once.
 */
export function connectionSettings({ options, env, folder }: Sources): Checked<ConnectionSettings> {
  const { address, namespace, taskQueue } = options
  const typed: Layer = {
    from: 'command line',
    ...(address === undefined ? {} : { address }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(taskQueue === undefined ? {} : { taskQueue }),
  }
  const envconfig = readEnvconfig(env)
  const asked = options.env ?? (env.TEMPORAL_ENV || null)
  const path = options.envFile ?? (env.TEMPORAL_ENV_FILE || null)
  const environment = readEnvironment({ path, name: asked, folder })
  if (!envconfig.ok || !environment.ok) {
    return { ok: false, problems: [envconfig, environment].flatMap((read) => (read.ok ? [] : read.problems)) }
  }
  const { variables, profile } = envconfig.value
  const layers = [typed, ...variables, profile, environment.value, DEFAULTS].filter((layer) => layer !== null)
  return resolve(layers, environment.value)
}

function resolve(layers: readonly Layer[], environment: Layer | null): Checked<ConnectionSettings> {
  const setting = (key: 'address' | 'namespace' | 'taskQueue') =>
    firstOf(layers, key) ?? { value: '', from: DEFAULTS.from }
  const settings = {
    address: setting('address'),
    namespace: setting('namespace'),
    taskQueue: setting('taskQueue'),
  }
  const [apiKey, grpcMeta] = [firstOf(layers, 'apiKey'), firstOf(layers, 'grpcMeta')]
  const tls = tlsOf(layers)
  const problems = [...checkAddress(settings.address), ...(tls === null ? [] : checkTls(tls))]
  const options =
    problems.length > 0 ? null : optionsOf(settings.address.value, tls, apiKey, grpcMeta, problems)
  if (options === null) return { ok: false, problems }
  const described = [
    { name: 'address', ...settings.address },
    { name: 'namespace', ...settings.namespace },
    { name: 'task queue', ...settings.taskQueue },
    { name: 'TLS', value: sayTls(tls, apiKey !== null), from: (tls ?? apiKey)?.from ?? DEFAULTS.from },
    ...(apiKey === null ? [] : [{ name: 'API key', value: '(secret)', from: apiKey.from }]),
    ...(grpcMeta === null
      ? []
      : [{ name: 'gRPC metadata', value: Object.keys(grpcMeta.value).join(', '), from: grpcMeta.from }]),
  ]
  const notes = [
    ...overruled(settings, environment),
    ...(apiKey === null || tls === null ? [] : keyInTheOpen(settings.address.value, tls)),
  ]
  return { ok: true, value: { ...settings, connectionOptions: options, described, notes } }
}

function optionsOf(
  address: string,
  tls: Setting<ClientConfigTLS> | null,
  apiKey: Setting<string> | null,
  grpcMeta: Setting<Record<string, string>> | null,
  problems: Problem[],
): ClientConnectConfig['connectionOptions'] | null {
  try {
    const { connectionOptions } = toClientOptions({
      address,
      ...(tls === null ? {} : { tls: tls.value }),
      ...(apiKey === null ? {} : { apiKey: apiKey.value }),
      ...(grpcMeta === null ? {} : { grpcMeta: grpcMeta.value }),
    })
    return connectionOptions
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error)
    problems.push({ where: `TLS (${tls?.from})`, what, fix: 'correct the path' })
    return null
  }
}

/** Field by field, so that a certificate from a file and `TEMPORAL_TLS=true` go together. */
function tlsOf(layers: readonly Layer[]): Setting<ClientConfigTLS> | null {
  const saying = layers.filter((layer) => layer.tls !== undefined)
  if (saying.length === 0) return null
  const value: ClientConfigTLS = Object.assign({}, ...saying.toReversed().map((layer) => layer.tls))
  return { value, from: saying.map((layer) => layer.from).join(', ') }
}

function checkAddress({ value, from }: Setting<string>): Problem[] {
  if (/^(\[[\da-fA-F:.]+\]|[\w.-]+)(:\d+)?$/.test(value)) return []
  return [{ where: `address (${from})`, what: `${value} is no address`, fix: 'write host:port' }]
}

function checkTls({ value, from }: Setting<ClientConfigTLS>): Problem[] {
  const { disabled, clientCert, clientKey } = value
  if (disabled === true || (clientCert === undefined) === (clientKey === undefined)) return []
  const [there, missing] = clientCert === undefined ? ['key', 'certificate'] : ['certificate', 'key']
  // The SDK would go without either, and the server would refuse for a reason that does not help.
  return [{ where: `TLS (${from})`, what: `has a client ${there} without ${missing}`, fix: 'give both' }]
}

function sayTls(tls: Setting<ClientConfigTLS> | null, apiKey: boolean): string {
  if (tls === null) return apiKey ? 'on' : 'off'
  if (tls.value.disabled === true) return 'off'
  const { serverName, serverCACert, clientCert } = tls.value
  const at = (what: string, source: ClientConfigTLS['clientCert']) =>
    source === undefined ? [] : [`${what} ${'path' in source ? source.path : 'given as text'}`]
  const parts = [
    ...(serverName === undefined ? [] : [`server name ${serverName}`]),
    ...at('CA', serverCACert),
    ...at('client certificate', clientCert),
  ]
  return parts.length === 0 ? 'on' : `on, ${parts.join(', ')}`
}

/** Whoever names an environment expects its server: when another one wins, it has to be said. */
function overruled(
  settings: Pick<ConnectionSettings, 'address' | 'namespace' | 'taskQueue'>,
  environment: Layer | null,
): string[] {
  if (environment === null) return []
  return (['address', 'namespace', 'taskQueue'] as const).flatMap((key) => {
    const { value, from } = settings[key]
    const meant = environment[key]
    if (meant === undefined || meant === value || from === 'command line') return []
    return [
      `${key === 'taskQueue' ? 'task queue' : key} is ${value} (${from}), not ${meant} (${environment.from})`,
    ]
  })
}

/** The stock CLI sends it without a word; a proxy beside us may well be what encrypts it. */
function keyInTheOpen(address: string, { value, from }: Setting<ClientConfigTLS>): string[] {
  if (value.disabled !== true || /^(127\.[\d.]+|localhost|\[::1\])(:\d+)?$/.test(address)) return []
  return [`the API key goes to ${address} unencrypted, for TLS is off (${from})`]
}
