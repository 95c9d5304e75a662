import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { ensureTemporalCli } from '../../scripts/temporal-cli.mjs'
import { connectionSettings } from '../../src/client/connection-settings.js'
import { StubWorker, stubSpec } from '../client/stub-worker.js'
import { realTemporal } from '../support/parts.js'
import { CommandBed } from './command.js'

const FILE = fileURLToPath(new URL('../../temporal.yaml', import.meta.url))

describe('temporal.yaml, read by the stock CLI and by noderoll', () => {
  let temporal: Awaited<ReturnType<typeof realTemporal>>
  let bed: CommandBed
  let cli: string

  beforeAll(async () => {
    temporal = await realTemporal()
    bed = await CommandBed.open()
    const found = await ensureTemporalCli()
    if (found === null) throw new Error('there is no Temporal CLI')
    cli = found
  })
  afterAll(() => bed.close())

  it('both find the same values in the file of this project', async () => {
    const asked = await bed.runProgram(cli, [
      ...['env', 'get', '--env-file', FILE, '--env', 'local', '--output', 'json'],
    ])
    const theirs = Object.fromEntries(
      (JSON.parse(asked.stdout) as { property: string; value: string }[]).map(({ property, value }) => [
        property,
        value,
      ]),
    )
    const ours = connectionSettings({ options: { env: 'local', envFile: FILE }, env: {}, folder: bed.folder })

    expect(theirs).toEqual({ address: '127.0.0.1:7233', namespace: 'default', 'task-queue': 'noderoll' })
    expect(ours).toMatchObject({
      ok: true,
      value: {
        address: { value: theirs.address },
        namespace: { value: theirs.namespace },
        taskQueue: { value: theirs['task-queue'] },
      },
    })
  })

  it('its example of a server with TLS means the same to both', async () => {
    const { env } = parse(await readFile(FILE, 'utf8')) as { env: Record<string, Record<string, unknown>> }
    const theirs = await bed.runProgram(cli, ['workflow', 'list', '--env-file', FILE, '--env', 'prod'])
    const ours = connectionSettings({ options: { env: 'prod', envFile: FILE }, env: {}, folder: bed.folder })

    // Neither finds the certificates of the example here, and each says which one it missed.
    expect(theirs.stderr).toContain(String(env.prod?.['tls-cert-path']))
    expect(ours).toMatchObject({ ok: false, problems: [{ what: expect.stringContaining('ENOENT') }] })
  })

  it('what the one starts, the other watches, over the same file', async () => {
    const taskQueue = 'shared-file'
    const cluster = 'shared-file'
    const envFile = await bed.file(
      'temporal.yaml',
      `env:\n  test:\n    address: ${temporal.address}\n    namespace: ${temporal.namespace}\n    task-queue: ${taskQueue}\n`,
    )
    const input = await bed.file('rollout.json', stubSpec(cluster))
    const worker = await StubWorker.start({ ...temporal, taskQueue })
    const where = ['--env-file', envFile, '--env', 'test']
    const id = ['--workflow-id', `cluster-rollout/${cluster}`]
    try {
      worker.closeGate()
      const started = await bed.runProgram(cli, [
        ...['workflow', 'start', ...where, '--type', 'clusterRollout', '--fail-existing', ...id],
        ...['--input-file', input],
      ])
      expect(started).toMatchObject({ code: 0 })
      const queried = await bed.runProgram(cli, ['workflow', 'query', ...where, ...id, '--name', 'progress'])
      expect(queried.stdout).toContain(cluster)
      expect(await bed.run(['progress', cluster, ...where])).toMatchObject({ code: 0 })
      const second = await bed.run(['start', '--file', input, ...where])
      expect(second).toMatchObject({ code: 3 })
      expect(
        await bed.runProgram(cli, ['workflow', 'signal', ...where, ...id, '--name', 'cancel']),
      ).toMatchObject({ code: 0 })
      worker.openGate()
      expect(await bed.run(['watch', cluster, ...where])).toMatchObject({ code: 5 })
    } finally {
      await worker.stop()
    }
  })
})
