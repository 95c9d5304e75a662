import { randomUUID } from 'node:crypto'
import { Client, Connection } from '@temporalio/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stubSpec } from '../client/stub-worker.js'
import { compiled } from '../support/compiled.js'
import { realTemporal } from '../support/parts.js'
import { freePort } from '../support/ports.js'
import { CommandBed, type Ended } from './command.js'

describe('noderoll, when something is wrong', () => {
  let temporal: Awaited<ReturnType<typeof realTemporal>>
  let bed: CommandBed
  let spec: string

  beforeAll(async () => {
    temporal = await realTemporal()
    bed = await CommandBed.open({
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
    })
    spec = await bed.file('spec.json', stubSpec('prod'))
  })
  afterAll(() => bed.close())

  /** Nothing on stdout, and one line on stderr: never a stack. */
  const oneLine = (code: number, line: RegExp) => ({
    code,
    stdout: '',
    stderr: expect.stringMatching(line),
    lines: 1,
  })
  const looked = (ended: Ended) => ({ ...ended, lines: ended.stderr.trim().split('\n').length })

  it('names every mistake of a spec at once, and starts nothing', async () => {
    const cluster = `c-${randomUUID().slice(0, 8)}`
    const wrong = await bed.file(
      'wrong.yaml',
      `
cluster: ${cluster}
kubernetes: { context: prod, inCluster: true }
machines: { provider: simulated }
pools:
  worker: { select: { labels: { kind: plain } }, maxUnavailable: 0%, rootDiskGiB: large }
  gpu: { type: worker, select: { labels: { kind: gpu } }, offering: huge, typ: worker }
rolout: true
batchTimeout: 1 fortnight
`,
    )

    const { code, stdout, stderr } = await bed.run(['start', '--file', wrong, '--watch'])

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    const [head, ...mistakes] = stderr.trim().split('\n')
    expect(head).toBe('noderoll: the spec has 6 mistakes, nothing was sent:')
    expect(mistakes.map((line) => line.trim().split(':')[0]).sort()).toEqual([
      'batchTimeout',
      'kubernetes',
      'pools.gpu.typ',
      'pools.worker.maxUnavailable',
      'pools.worker.rootDiskGiB',
      'rolout',
    ])
    const connection = await Connection.connect({ address: temporal.address })
    const { workflow } = new Client({ connection, namespace: temporal.namespace })
    await expect(workflow.getHandle(`cluster-rollout/${cluster}`).describe()).rejects.toThrow('not found')
    await connection.close()
  })

  it('names them while Temporal is away', async () => {
    const wrong = await bed.file('two-mistakes.yaml', 'cluster: prod\nkubernetes: {}\nmachines: {}\n')
    const away = { TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}` }

    for (const command of ['start', 'plan', 'status', 'release']) {
      const { code, stderr } = await bed.run([command, '--file', wrong], away)
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringMatching(
          /^noderoll: the spec has 2 mistakes, nothing was sent:\n {2}kubernetes/,
        ),
      })
    }
  })

  it('Temporal cannot be reached', async () => {
    const nowhere = `127.0.0.1:${await freePort()}`

    const ended = await bed.run(['progress', 'prod', '--address', nowhere])

    expect(ended).toEqual({
      code: 4,
      stdout: '',
      stderr: `noderoll: cannot reach Temporal at ${nowhere} (command line): nothing listens there; start it, or correct the address\n`,
    })
  })

  it.each([
    ['a namespace that is not there', ['progress', 'prod', '--namespace', 'nope'], 4, /no namespace nope/],
    ['a rollout that is not there', ['watch', 'nope'], 6, /there is no rollout of nope/],
    ['nobody on the task queue', ['plan', '-f', 'spec.json', '--task-queue', 'nobody'], 4, /noderoll worker/],
    [
      'a file that is not there',
      ['start', '-f', 'nope.yaml'],
      2,
      /nope\.yaml cannot be read: there is no such file; correct the path/,
    ],
    ['a folder', ['start', '-f', '.'], 2, /\. cannot be read: it is a folder; correct the path/],
    ['a file that is no JSON', ['start', '-f', 'broken.json'], 2, /broken\.json is no JSON/],
    ['a file that is no YAML', ['start', '-f', 'broken.yaml'], 2, /broken\.yaml is no YAML or JSON/],
    [
      'a spec that is empty',
      ['start', '-f', 'empty.yaml'],
      2,
      /the spec has 1 mistake, nothing was sent: spec: is null, not an object/,
    ],
    [
      'an environment that is not there',
      ['progress', 'prod', '--env', 'nope'],
      2,
      /temporal\.yaml: does not exist/,
    ],
    ['no spec', ['start'], 2, /required option '-f, --file <path>'.*; see: noderoll start --help/],
    ['a command that is none', ['strat'], 2, /unknown command 'strat'; did you mean start\?/],
    [
      'an option that is none',
      ['watch', 'x', '--outptu', 'json'],
      2,
      /unknown option '--outptu'; did you mean --output\?/,
    ],
    ['neither spec nor cluster', ['plan'], 2, /either --file with a spec or the name of a cluster/],
    ['a format that is none', ['progress', 'prod', '-o', 'xml'], 2, /Allowed choices are text, json, yaml/],
    ['no number', ['set-max-unavailable', 'prod', 'many'], 2, /an integer of at least 1, or a percentage/],
  ])('%s', async (_, args, code, sentence) => {
    await bed.file('broken.json', '{"cluster":')
    await bed.file('broken.yaml', 'cluster: [')
    await bed.file('empty.yaml', '')

    expect(looked(await bed.run(args))).toEqual(oneLine(code, sentence))
  })

  it('a rollout that no worker answers for', async () => {
    const taskQueue = randomUUID()
    const args = ['--task-queue', taskQueue, '--workflow-id', taskQueue]
    const started = await bed.run(['start', '-f', spec, ...args])

    expect(started).toMatchObject({ code: 0 })
    expect(started.stderr).toContain(`no worker is on the task queue ${taskQueue} yet`)
    const progress = await bed.run(['progress', 'prod', ...args])
    expect(looked(progress)).toEqual(oneLine(4, /no worker answers for the rollout of prod/))
  })

  it('whoever reads its answer may stop reading', async () => {
    const command = `"${process.execPath}" "${await compiled('src/cli/main.ts')}" schema | head -c 1`

    expect(await bed.runProgram('sh', ['-c', command])).toEqual({ code: 0, stdout: '{', stderr: '' })
  })

  it('prints the schema without any Temporal, and help for whoever asks', async () => {
    const schema = await bed.run(['schema'], { TEMPORAL_ADDRESS: '127.0.0.1:1' })
    const help = await bed.run(['--help'])

    expect(JSON.parse(schema.stdout)).toMatchObject({
      type: 'object',
      required: ['cluster', 'kubernetes', 'machines'],
    })
    expect(help).toMatchObject({ code: 0, stderr: '' })
    expect(await bed.run([])).toMatchObject({ code: 2, stdout: '' })
    expect(await bed.run(['--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    })
  })
})
