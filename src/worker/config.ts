import { existsSync } from 'node:fs'
import {
  type Checked,
  type ConnectionOptions,
  type ConnectionSettings,
  connectionSettings,
  type Sources,
} from '../client/connection-settings.js'
import type { Setting, Variables } from '../client/setting.js'
import type { Problem } from '../core/model.js'
import type { PodPlace } from '../core/self-hosting.js'
import { type AzureEnvironment, readAzureEnvironment } from '../providers/azure-vm/environment.js'

const LOG_LEVELS = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR'] as const

/** Everything a worker process needs to know, checked. */
export interface WorkerConfig {
  readonly connection: ConnectionSettings
  readonly logLevel: (typeof LOG_LEVELS)[number]
  /** Where `/healthz` and `/readyz` are served; null: nowhere. */
  readonly healthPort: number | null
  /** `host:port` where Prometheus finds the metrics; null: nowhere. */
  readonly metricsAddress: string | null
  /** Workflow code that was bundled before; null: bundled at every start, which takes seconds. */
  readonly workflowBundle: string | null
  /** Where in Kubernetes this process runs, by the downward API; null: not said. */
  readonly place: PodPlace | null
  /** Steps a second that all workers of the task queue begin together (ADR 14); null: as many as they can. */
  readonly activitiesPerSecond: number | null
  /** Every setting and its origin, without secrets. */
  readonly described: ConnectionSettings['described']
}

/** Below this the waiting for its turn would use up the time that a step is given. */
const FEWEST_ACTIVITIES_PER_SECOND = 1

export interface WorkerSources extends Sources {
  readonly options: ConnectionOptions & { readonly activitiesPerSecond?: string }
}

/** How Temporal is reached, as for every command, and what is the worker's own. Names all mistakes at once. */
export function workerConfig(sources: WorkerSources): Checked<WorkerConfig> {
  const connection = connectionSettings(sources)
  const problems: Problem[] = connection.ok ? [] : [...connection.problems]
  const { env } = sources
  const pace = paceOf(sources)
  const azure = readAzureEnvironment(env)
  const own = {
    logLevel: logLevelOf(env, problems),
    healthPort: portOf(env, problems),
    metricsAddress: metricsAddressOf(env, problems),
    workflowBundle: bundleOf(env, problems),
    place: placeOf(env, problems),
    activitiesPerSecond: activitiesOf(pace, problems),
  }
  problems.push(...azure.problems)
  if (!connection.ok || problems.length > 0) return { ok: false, problems }
  const described = [
    ...connection.value.described,
    said('log level', own.logLevel, 'NODEROLL_LOG_LEVEL', env),
    said('health port', own.healthPort ?? 'off', 'NODEROLL_HEALTH_PORT', env),
    said('metrics address', own.metricsAddress ?? 'off', 'NODEROLL_METRICS_ADDRESS', env),
    said('node', own.place?.node ?? 'not said', 'NODEROLL_NODE_NAME', env),
    said('workflow bundle', own.workflowBundle ?? 'made at start', 'NODEROLL_WORKFLOW_BUNDLE', env),
    {
      name: 'activities per second',
      value: own.activitiesPerSecond === null ? 'unlimited' : String(own.activitiesPerSecond),
      from: pace?.from ?? 'default',
    },
    ...azureSaid(azure.environment, env),
  ]
  return { ok: true, value: { connection: connection.value, ...own, described } }
}

function logLevelOf(env: Variables, problems: Problem[]): WorkerConfig['logLevel'] {
  const given = env.NODEROLL_LOG_LEVEL || 'INFO'
  const level = LOG_LEVELS.find((one) => one === given.toUpperCase())
  if (level !== undefined) return level
  problems.push({
    where: 'NODEROLL_LOG_LEVEL',
    what: `${given} is no level`,
    fix: `write one of ${LOG_LEVELS.join(', ')}`,
  })
  return 'INFO'
}

function portOf(env: Variables, problems: Problem[]): number | null {
  const given = env.NODEROLL_HEALTH_PORT
  if (!given) return null
  if (isPort(given)) return Number(given)
  problems.push({ where: 'NODEROLL_HEALTH_PORT', what: `${given} is no port`, fix: 'write 1 to 65535' })
  return null
}

function metricsAddressOf(env: Variables, problems: Problem[]): string | null {
  const given = env.NODEROLL_METRICS_ADDRESS
  if (!given) return null
  // The SDK takes no host names here, and says so in the words of its parser.
  const port = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[\da-fA-F:.]+\]):(\d+)$/.exec(given)?.[1]
  if (port !== undefined && isPort(port)) return given
  problems.push({
    where: 'NODEROLL_METRICS_ADDRESS',
    what: `${given} is no address`,
    fix: 'write IP:port, such as 0.0.0.0:9464',
  })
  return null
}

function bundleOf(env: Variables, problems: Problem[]): string | null {
  const path = env.NODEROLL_WORKFLOW_BUNDLE
  if (!path) return null
  if (existsSync(path)) return path
  problems.push({
    where: 'NODEROLL_WORKFLOW_BUNDLE',
    what: `names ${path}, which does not exist`,
    fix: `make it with: noderoll worker --write-bundle ${path}`,
  })
  return null
}

const PLACE = {
  NODEROLL_NODE_NAME: 'spec.nodeName',
  NODEROLL_POD_NAMESPACE: 'metadata.namespace',
  NODEROLL_POD_NAME: 'metadata.name',
} as const

/** All three or none: half a place would pass for none, and the worker would drain itself in the middle of a pool. */
function placeOf(env: Variables, problems: Problem[]): PodPlace | null {
  const { NODEROLL_NODE_NAME: node, NODEROLL_POD_NAMESPACE: namespace, NODEROLL_POD_NAME: pod } = env
  if (node && namespace && pod) return { node, namespace, pod }
  if (node || namespace || pod) {
    for (const [name, field] of Object.entries(PLACE)) {
      if (env[name]) continue
      problems.push({
        where: name,
        what: 'is missing beside the others',
        fix: `set it from the pod's ${field} by the downward API`,
      })
    }
  }
  return null
}

function paceOf({ options, env }: WorkerSources): Setting<string> | null {
  const typed = options.activitiesPerSecond
  if (typed !== undefined) return { value: typed, from: 'command line' }
  const given = env.NODEROLL_ACTIVITIES_PER_SECOND
  return given ? { value: given, from: 'NODEROLL_ACTIVITIES_PER_SECOND' } : null
}

function activitiesOf(pace: Setting<string> | null, problems: Problem[]): number | null {
  if (pace === null) return null
  const { value, from } = pace
  if (/^\d+(\.\d+)?$/.test(value) && Number(value) >= FEWEST_ACTIVITIES_PER_SECOND) return Number(value)
  problems.push({
    where: from === 'command line' ? '--activities-per-second' : from,
    what: `${value} is no pace that steps can be worked on at`,
    fix: `write a number, ${FEWEST_ACTIVITIES_PER_SECOND} or more`,
  })
  return null
}

/** Named at start although a spec decides whether they are used: a rollout is no place to find them mistaken. */
function azureSaid({ endpoint, scope, requestsPerSecond }: AzureEnvironment, env: Variables) {
  const ca = env.NODEROLL_AZURE_CA_FILE || 'none of its own'
  return [
    said('Azure endpoint', endpoint, 'NODEROLL_AZURE_ENDPOINT', env),
    said('Azure token scope', scope ?? 'of the public cloud', 'NODEROLL_AZURE_SCOPE', env),
    said('Azure CA file', ca, 'NODEROLL_AZURE_CA_FILE', env),
    said('Azure requests per second', requestsPerSecond, 'NODEROLL_AZURE_REQUESTS_PER_SECOND', env),
  ]
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535
}

function said(name: string, value: string | number, variable: string, env: Variables) {
  const described: Setting<string> & { name: string } = {
    name,
    value: String(value),
    from: env[variable] ? variable : 'default',
  }
  return described
}
