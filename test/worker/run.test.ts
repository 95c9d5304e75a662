import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { Client, Connection } from '@temporalio/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CommandBed, type CommandProcess } from '../cli/command.js'
import { stubSpec } from '../client/stub-worker.js'
import { freePort } from '../support/ports.js'
import { startTemporal, type TemporalServer } from '../support/temporal.js'
import { waitUntil } from '../support/wait.js'

describe('noderoll worker, the process', () => {
  let temporal: TemporalServer
  let connection: Connection
  let client: Client
  let bed: CommandBed
  let bundle: string

  beforeAll(async () => {
    temporal = await startTemporal()
    connection = await Connection.connect({ address: temporal.address })
    client = new Client({ connection })
    bed = await CommandBed.open({ TEMPORAL_ADDRESS: temporal.address })
    bundle = `${bed.folder}/workflows.js`
    expect(await bed.run(['worker', '--write-bundle', bundle])).toMatchObject({ code: 0, stderr: '' })
  })
  afterAll(async () => {
    await bed.close()
    await connection.close()
    await temporal.stop()
  })

  async function startWorker(taskQueue: string, env: Record<string, string> = {}) {
    const port = `${await freePort()}`
    const worker = bed.start(['worker', '--task-queue', taskQueue], {
      NODEROLL_WORKFLOW_BUNDLE: bundle,
      NODEROLL_HEALTH_PORT: port,
      ...env,
    })
    const health = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`)
      return { status: answer.status, text: (await answer.text()).trim() }
    }
    await waitUntil(async () => (await health('/readyz')).status === 200, { for: 'the worker to be ready' })
    return { worker, health }
  }

  const entries = (worker: CommandProcess): Record<string, string>[] =>
    worker.stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))

  it('logs each setting with its origin and no secret, works in UTC, and stops on SIGTERM', async () => {
    const metrics = `127.0.0.1:${await freePort()}`
    const { worker, health } = await startWorker('settings', {
      TZ: 'Asia/Tokyo',
      TEMPORAL_API_KEY: 'sesame',
      TEMPORAL_TLS: 'false',
      NODEROLL_METRICS_ADDRESS: metrics,
    })

    expect(await health('/healthz')).toEqual({ status: 200, text: 'alive' })
    expect(await health('/elsewhere')).toMatchObject({ status: 404 })
    await waitUntil(
      async () => (await (await fetch(`http://${metrics}/metrics`)).text()).includes('temporal_num_pollers'),
      { for: 'the pollers in the metrics' },
    )
    worker.signal('SIGTERM')
    expect(await worker.ended).toMatchObject({ code: 0, stdout: '' })

    expect(worker.stderr).not.toContain('sesame')
    const settings = entries(worker).filter((entry) => entry.message === 'Using setting')
    expect(settings.map(({ setting, value, from }) => `${setting}: ${value} (${from})`)).toEqual([
      `address: ${temporal.address} (TEMPORAL_ADDRESS)`,
      'namespace: default (default)',
      'task queue: settings (command line)',
      'TLS: off (TEMPORAL_TLS*)',
      'API key: (secret) (TEMPORAL_API_KEY)',
      'log level: INFO (default)',
      expect.stringMatching(/^health port: \d+ \(NODEROLL_HEALTH_PORT\)$/),
      `metrics address: ${metrics} (NODEROLL_METRICS_ADDRESS)`,
      'node: not said (default)',
      `workflow bundle: ${bundle} (NODEROLL_WORKFLOW_BUNDLE)`,
      'activities per second: unlimited (default)',
      'Azure endpoint: https://management.azure.com (default)',
      'Azure token scope: of the public cloud (default)',
      'Azure CA file: none of its own (default)',
      'Azure requests per second: 20 (default)',
    ])
    expect(entries(worker)).toContainEqual(expect.objectContaining({ message: 'Working', timeZone: 'UTC' }))
    expect(entries(worker).at(-1)).toMatchObject({ message: 'Stopped' })
  })

  it('is not ready while Temporal does not answer, but alive, and ready again afterwards', async () => {
    const { worker, health } = await startWorker('outage')
    try {
      temporal.process?.pause()
      expect(await health('/readyz')).toEqual({
        status: 503,
        text: expect.stringContaining('Temporal does not answer'),
      })
      expect(await health('/healthz')).toMatchObject({ status: 200 })
    } finally {
      temporal.process?.resume()
    }

    await waitUntil(async () => (await health('/readyz')).status === 200, { for: 'the worker to be ready' })
    worker.signal('SIGINT')
    expect(await worker.ended).toMatchObject({ code: 0 })
  })

  it('works with the real steps: what only they can refuse is refused', async () => {
    const { worker } = await startWorker('real-steps')
    const spec = await bed.file('spec.json', stubSpec('prod', { machines: { provider: 'nimbus' } }))

    const { code, stderr } = await bed.run(['plan', '--file', spec, '--task-queue', 'real-steps'])

    expect(code).toBe(2)
    expect(stderr).toMatch(/machines\.provider: nimbus is no provider; this worker knows .*simulated/)
    worker.signal('SIGTERM')
    await worker.ended
  })

  it('lets a step finish before it stops, so that the next worker goes on at once', async () => {
    // An API server that accepts and never answers: the step waits for its own deadline.
    const sockets: Socket[] = []
    const silent = createServer((socket) => sockets.push(socket))
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const { port } = silent.address() as AddressInfo
    const kubeconfig = await bed.file('kubeconfig.json', {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'silent',
      clusters: [
        {
          name: 'silent',
          cluster: { server: `https://127.0.0.1:${port}` },
        },
      ],
      users: [{ name: 'nobody', user: { token: 'none' } }],
      contexts: [{ name: 'silent', context: { cluster: 'silent', user: 'nobody' } }],
    })
    const asked = once(silent, 'connection')
    const { worker } = await startWorker('graceful')
    const machines = { provider: 'simulated', cluster: 'prod', url: `http://127.0.0.1:${port}` }
    const input = { cluster: 'prod', kubernetes: { kubeconfig }, machines }
    const handle = await client.workflow.start('clusterStatus', {
      taskQueue: 'graceful',
      workflowId: 'graceful',
      args: [input],
    })
    await asked

    worker.signal('SIGTERM')
    expect(await worker.ended).toMatchObject({ code: 0 })

    const { raw } = await handle.describe()
    const [pending] = raw.pendingActivities ?? []
    expect(pending?.lastFailure?.message).toBeTruthy()
    expect(pending?.lastWorkerIdentity).toContain(`${worker.pid}@`)
    expect(entries(worker).at(-1)).toMatchObject({ message: 'Stopped' })
    await handle.terminate()
    for (const socket of sockets) socket.destroy()
    silent.close()
  })

  it('ends with a code even when working failed and something keeps the process alive', async () => {
    const preload = new URL('./run-rejects.mjs', import.meta.url)
    const { code, stderr } = await bed.run(['worker'], {
      NODEROLL_WORKFLOW_BUNDLE: bundle,
      NODE_OPTIONS: `--import ${preload}`,
    })

    expect(code).toBe(1)
    expect(stderr.trim().split('\n').at(-1)).toBe(
      'noderoll: the worker stopped without finishing its work: as if an activity had ignored the stop',
    )
  })

  it.each([
    ['Temporal that cannot be reached', { TEMPORAL_ADDRESS: '127.0.0.1:1' }, 4, /nothing listens there/],
    ['a namespace that is not there', { TEMPORAL_NAMESPACE: 'nope' }, 4, /no namespace nope/],
    ['a metrics port that is taken', { NODEROLL_METRICS_ADDRESS: 'TEMPORAL' }, 2, /METRICS_ADDRESS .*in use/],
    ['a health port that is taken', { NODEROLL_HEALTH_PORT: 'TEMPORAL' }, 2, /HEALTH_PORT .*EADDRINUSE/],
  ])('does not start with %s: one sentence, a code, no stack', async (_, env, code, sentence) => {
    const taken = {
      NODEROLL_METRICS_ADDRESS: temporal.address,
      NODEROLL_HEALTH_PORT: temporal.address.split(':')[1],
    }
    const given = Object.entries(env).map(([name, value]) => [
      name,
      value === 'TEMPORAL' ? taken[name as keyof typeof taken] : value,
    ])

    const ended = await bed.run(['worker'], {
      NODEROLL_WORKFLOW_BUNDLE: bundle,
      ...Object.fromEntries(given),
    })

    expect(ended.code).toBe(code)
    const said = ended.stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'))
    expect(said).toEqual([expect.stringMatching(sentence)])
  })
})
