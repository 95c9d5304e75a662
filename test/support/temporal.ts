import { join } from 'node:path'
import { Connection } from '@temporalio/client'
import { ensureTemporalCli } from '../../scripts/temporal-cli.mjs'
import { freePort } from './ports.js'
import { type ManagedProcess, ProcessGroup } from './processes.js'
import { waitUntil } from './wait.js'

export interface TemporalOptions {
  /** Namespaces besides `default`. */
  namespaces?: string[]
  searchAttributes?: Record<
    string,
    'Text' | 'Keyword' | 'Int' | 'Double' | 'Bool' | 'Datetime' | 'KeywordList'
  >
  /** Suggest continue-as-new after about so many events; 4096 unless told otherwise. */
  suggestContinueAsNew?: number
  /** Further settings of the server. */
  dynamicConfig?: Record<string, unknown>
  /** With the Web UI. */
  ui?: boolean
  /** Keep workflows over `process.restart()`. */
  persistent?: boolean
}

/** What can be handed to another process. */
export interface TemporalAccess {
  address: string
  uiUrl: string | undefined
  /** The `temporal` command; undefined where only the SDK's own download could be had. */
  cli: string | undefined
}

export interface TemporalServer extends TemporalAccess {
  /** To pause, kill and restart it on the same port; undefined where the SDK runs it. */
  process: ManagedProcess | undefined
  stop(options?: { keepLogs?: boolean }): Promise<void>
}

/** Starts a real dev server whose timers are precise and whose workflows may skip time. */
export async function startTemporal(options: TemporalOptions = {}): Promise<TemporalServer> {
  const cli = await ensureTemporalCli()
  if (!cli) return await startBySdk(options)
  for (let attempt = 1; ; attempt++) {
    const processes = new ProcessGroup('temporal')
    try {
      return await start(cli, options, processes)
    } catch (error) {
      await processes.stop()
      // A port that was free when we looked may be taken by now.
      if (attempt === 3 || !String(error).includes('address already in use')) throw error
    }
  }
}

async function start(
  cli: string,
  options: TemporalOptions,
  processes: ProcessGroup,
): Promise<TemporalServer> {
  const port = await freePort()
  const address = `127.0.0.1:${port}`
  const uiPort = options.ui ? await freePort() : undefined
  const server = await processes.start({
    name: 'temporal',
    program: cli,
    args: [
      ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', `${port}`, '--log-level', 'warn'],
      ...(uiPort === undefined ? ['--headless'] : ['--ui-port', `${uiPort}`]),
      ...(options.persistent ? ['--db-filename', join(processes.folder, 'temporal.db')] : []),
      ...extraArgs(options),
    ],
    ready: () => serves(address, ['default', ...(options.namespaces ?? [])]),
  })
  return {
    address,
    uiUrl: uiPort === undefined ? undefined : `http://127.0.0.1:${uiPort}`,
    cli,
    process: server,
    stop: ({ keepLogs = false } = {}) => processes.stop({ keepFolder: keepLogs }),
  }
}

async function startBySdk(options: TemporalOptions): Promise<TemporalServer> {
  const { TestWorkflowEnvironment } = await import('@temporalio/testing')
  const ui = options.ui ?? false
  const uiPort = ui ? await freePort() : undefined
  const environment = await TestWorkflowEnvironment.createLocal({
    server: {
      ip: '127.0.0.1',
      ui,
      ...(uiPort === undefined ? {} : { uiPort }),
      extraArgs: extraArgs(options),
    },
  })
  return {
    address: environment.address,
    uiUrl: uiPort === undefined ? undefined : `http://127.0.0.1:${uiPort}`,
    cli: undefined,
    process: undefined,
    stop: () => environment.teardown(),
  }
}

function extraArgs(options: TemporalOptions): string[] {
  const dynamicConfig = {
    // Timers are rounded up to about a second without it.
    'history.timerProcessorMaxTimeShift': '10ms',
    'frontend.WorkflowTimeSkippingEnabled': true,
    // A server reads its queues 20 times a second for a shard: each step of a rollout would wait up to 50 ms for its turn.
    'history.transferProcessorMaxPollRPS': 1000,
    ...(options.suggestContinueAsNew === undefined
      ? {}
      : { 'limit.historyCount.suggestContinueAsNew': options.suggestContinueAsNew }),
    ...options.dynamicConfig,
  }
  return [
    ...Object.entries(dynamicConfig).flatMap(([key, value]) => [
      '--dynamic-config-value',
      `${key}=${JSON.stringify(value)}`,
    ]),
    ...(options.namespaces ?? []).flatMap((name) => ['--namespace', name]),
    ...Object.entries(options.searchAttributes ?? {}).flatMap(([name, type]) => [
      '--search-attribute',
      `${name}=${type}`,
    ]),
  ]
}

async function serves(address: string, namespaces: string[]): Promise<void> {
  await waitUntil(
    async () => {
      const connection = await Connection.connect({ address, connectTimeout: 1_000 })
      try {
        for (const namespace of namespaces) await connection.workflowService.describeNamespace({ namespace })
        return true
      } finally {
        await connection.close()
      }
    },
    { for: `a Temporal server on ${address}`, everyMs: 50, timeoutMs: 60_000 },
  )
}
