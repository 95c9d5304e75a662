import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { RolloutBed } from '../support/rollout-bed.js'
import { pausedRollout } from '../support/story-world.js'
import { startTemporal, type TemporalServer } from '../support/temporal.js'
import { waitUntil } from '../support/wait.js'

const run = promisify(execFile)

describe('search attributes', () => {
  const NAMESPACES = ['with', 'without', 'of-another-type', 'with-one-of-them']
  const TO_LARGE = { pools: { worker: { offering: 'large' } } }

  let temporal: TemporalServer
  let bed: RolloutBed

  beforeAll(async () => {
    temporal = await startTemporal({ namespaces: NAMESPACES })
  })
  afterEach(async () => {
    await bed.clean()
    await bed.close()
  })
  afterAll(() => temporal.stop())

  /** As an operator does it, before the worker starts. */
  async function register(namespace: string, ...attributes: [name: string, type: string][]): Promise<void> {
    const words = attributes.flatMap(([name, type]) => ['--name', name, '--type', type])
    await cli(namespace, 'operator', 'search-attribute', 'create', ...words)
  }

  async function cli(namespace: string, ...words: string[]): Promise<string> {
    if (temporal.cli === undefined) throw new Error('there is no temporal command')
    const { stdout } = await run(temporal.cli, [
      ...words,
      ...['--address', temporal.address, '--namespace', namespace],
    ])
    return stdout
  }

  async function listed(namespace: string, query: string): Promise<string[]> {
    const workflows = JSON.parse(await cli(namespace, 'workflow', 'list', '-o', 'json', '--query', query))
    return workflows.map((one: { execution: { workflowId: string } }) => one.execution.workflowId)
  }

  /** Lists follow the workflows with a delay. */
  async function untilListed(namespace: string, query: string): Promise<void> {
    await waitUntil(async () => (await listed(namespace, query)).includes('cluster-rollout/prod'), {
      for: `a rollout with ${query}`,
    })
  }

  it('CKS-28 find the rollouts of a cluster, and those that are paused, by a query to the real server', async () => {
    await register('with', ['NoderollCluster', 'Keyword'], ['NoderollPhase', 'Keyword'])
    bed = await RolloutBed.open({ ...temporal, namespace: 'with' })
    await bed.startCluster({ workers: 2 })
    await bed.startWorker()

    const handle = await pausedRollout(bed, TO_LARGE)
    await untilListed('with', `NoderollCluster = 'prod' AND NoderollPhase = 'paused'`)
    const others = await listed('with', `NoderollCluster = 'prod-eu' OR NoderollPhase = 'rolling'`)
    await handle.signal('resume')
    const end = await bed.endOf(handle)
    await untilListed('with', `NoderollCluster = 'prod' AND NoderollPhase = 'ended'`)

    expect(others).toEqual([])
    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', done: { count: 2 } } })
    expect(await listed('with', `NoderollPhase = 'paused'`)).toEqual([])
  })

  it.each<[string, [name: string, type: string][]]>([
    ['without', []],
    ['with-one-of-them', [['NoderollCluster', 'Keyword']]],
    [
      'of-another-type',
      [
        ['NoderollCluster', 'Keyword'],
        ['NoderollPhase', 'Int'],
      ],
    ],
  ])(
    'CKS-28 a namespace %s is rolled without any failure, and none is written',
    async (namespace, attributes) => {
      if (attributes.length > 0) await register(namespace, ...attributes)
      bed = await RolloutBed.open({ ...temporal, namespace })
      await bed.startCluster({ workers: 2 })
      await bed.startWorker()

      const handle = await bed.start(bed.spec(TO_LARGE))
      const end = await bed.endOf(handle)
      const { events } = await handle.fetchHistory()

      expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', done: { count: 2 } } })
      const failures = events?.filter((event) => event.workflowTaskFailedEventAttributes)
      expect(failures).toEqual([])
      const upserts = events?.filter((event) => event.upsertWorkflowSearchAttributesEventAttributes)
      expect(upserts).toEqual([])
    },
  )
})
