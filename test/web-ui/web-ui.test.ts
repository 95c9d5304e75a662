import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { WorkflowHandle } from '@temporalio/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ensureChromium } from '../../scripts/chromium.mjs'
import { NoderollClient } from '../../src/client/noderoll-client.js'
import type { Progress } from '../../src/core/progress.js'
import { found } from '../support/batch-nodes.js'
import { addBudget, BUDGETS, podsOf, runWorkload } from '../support/batch-pods.js'
import { RolloutBed } from '../support/rollout-bed.js'
import { startTemporal, type TemporalServer } from '../support/temporal.js'
import { waitUntil } from '../support/wait.js'
import { WebUiPage } from './web-ui-page.js'

const run = promisify(execFile)

/** Of a browser, where there is none yet. */
const INSTALL_TIMEOUT_MS = 500_000

/** A rollout that stands still in its second batch, because a budget lets no pod of w-4 go. */
describe("a rollout in Temporal's Web UI", () => {
  const CLUSTER = 'prod-eu'
  const TASK_QUEUE = 'noderoll'
  const WHY = '(offering small → large or huge, root disk 50 → 80 GiB)'
  const SINCE = expect.stringMatching(/^\d\d\s[A-Z][a-z]{2}\s\d\d:\d\d$/)

  let temporal: TemporalServer
  let bed: RolloutBed
  let handle: WorkflowHandle
  let ui: WebUiPage
  let heldPod: string

  beforeAll(async () => {
    await ensureChromium()
    const searchAttributes = { NoderollCluster: 'Keyword', NoderollPhase: 'Keyword' } as const
    temporal = await startTemporal({ ui: true, searchAttributes })
    bed = await RolloutBed.open(temporal)
    const delays = { stopMs: 800, changeMs: 400, startMs: 400, bootMs: 800 }
    await bed.startCluster({ cluster: CLUSTER, workers: 6, delays })
    await runWorkload(bed.kube.api, 'Deployment', 'web', { on: 'w-4' })
    await addBudget(bed.kube.api, 'web', 1)
    const [pod] = await podsOf(bed.kube.api, 'web')
    heldPod = pod?.metadata.name ?? 'missing'
    await found(bed)
    await bed.startWorker(TASK_QUEUE)
    handle = await startHeldRollout()
    const { runId } = await handle.describe()
    ui = await WebUiPage.open(temporal.uiUrl ?? '', handle.workflowId, runId)
  }, INSTALL_TIMEOUT_MS)
  afterAll(async () => {
    await ui?.close()
    // A rollout whose test failed is still open, and its server goes with it.
    await bed?.clean()
    await bed?.close()
    await temporal?.stop()
  })

  async function startHeldRollout(): Promise<WorkflowHandle> {
    const client = new NoderollClient({ client: bed.client, taskQueue: TASK_QUEUE })
    const worker = { offering: ['large', 'huge'], rootDiskGiB: 80, maxUnavailable: 2 }
    const limits = { drain: { timeout: '15m' }, batchTimeout: '30m' }
    const spec = { ...bed.spec({ pools: { worker }, ...limits }), cluster: CLUSTER }
    const { workflowId } = await client.startRollout(spec, { by: 'olga' })
    const rollout = bed.client.workflow.getHandle(workflowId)
    const isHeld = async () => {
      const { nodes } = await rollout.query<Progress>('progress')
      const waiting = nodes.filter(({ waitsFor }) => waitsFor.length > 0)
      return waiting.length === 1 && nodes.some(({ step }) => step === 'drained')
    }
    await waitUntil(isHeld, { for: 'a drain that is held', timeoutMs: 60_000 })
    return rollout
  }

  it('CKS-12 tells at a glance what was asked, by whom, how far it is, and which node waits for what', async () => {
    const text = await ui.look('user-metadata', [
      'roll prod-eu: worker',
      'prod-eu on simulated, started by olga',
      'pool worker: offering large or huge, root disk 80 GiB; 2 at a time',
      'prod-eu: rolling, batch 2 (worker), 2 nodes done, 4 out of date',
      'pool worker: 4 of 6 machines out of date',
      'RUNNING',
    ])
    const table = await ui.table()
    await ui.picture('web-ui.png')

    expect(text).toContain('RUNNING')
    expect(table.map((cells) => cells.map((cell) => cell.trim()))).toEqual([
      ['node', 'step', 'since (UTC)', 'waits for'],
      ['w-4', 'drain', SINCE, `budget default/web needs 1 healthy, has 1; holds 1 pod: default/${heldPod}`],
      ['w-3', 'drained', SINCE, ''],
    ])
  })

  it('names the nodes of each step in the timeline and in the history', async () => {
    await ui.look('timeline', [
      'preflightBatch • w-3, w-4',
      'cordonNodes • w-3, w-4',
      `drainNode • w-3 ${WHY}`,
      `drainNode • w-4 ${WHY}`,
      'stopMachine • w-1',
      'resizeMachine • w-1 → large',
      'startMachine • w-2 → large',
      'verifyNode • w-2',
      'limit of batch 2',
    ])
    await ui.picture('web-ui-timeline.png', ui.heading('Timeline'))
    await ui.look('history', [`Summary w-3 ${WHY}`])

    expect(await ui.event('Activity Task Scheduled', 'drainNode', 'w-4')).toContain(`w-4 ${WHY}`)
  })

  it('CKS-28 shows the search attributes', async () => {
    const text = await ui.look('search-attributes', ['NoderollPhase'])

    expect(text).toContain('"NoderollCluster": "prod-eu"')
    expect(text).toContain('"NoderollPhase": "rolling"')
  })

  it('CKS-20 shows a cancel signal of the stock CLI, that it is heard, and what came of it', async () => {
    if (temporal.cli === undefined) throw new Error('there is no temporal command to send the signal with')
    const signal = ['workflow', 'signal', '--workflow-id', handle.workflowId, '--name', 'cancel']

    await run(temporal.cli, [...signal, '--address', temporal.address])
    const heard = await ui.look('user-metadata', ['cancel requested: stops after this batch'])
    await ui.look('history', ['Signal Name cancel'])
    const event = await ui.event('Workflow Execution Signaled', 'cancel')
    await bed.kube.api.ok('DELETE', `${BUDGETS}/web`)
    const end = await bed.endOf(handle)
    const details = await ui.look('user-metadata', [
      'prod-eu: ended, batch 2 (worker), 4 nodes done, cancel requested',
    ])
    const table = await ui.table()
    const result = await ui.look('timeline', ['"outcome": "cancelled"', 'release • cancelled', 'COMPLETED'])
    const attributes = await ui.look('search-attributes', ['NoderollPhase'])

    expect(heard).toContain('prod-eu: rolling, batch 2')
    expect(event).toContain('cancel')
    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'cancelled', done: { count: 4 } } })
    expect(details).toContain('last error: cancelled by')
    expect(table.slice(1).map(([node, step]) => [node?.trim(), step?.trim()])).toEqual([
      ['w-3', 'done'],
      ['w-4', 'done'],
    ])
    expect(result).toContain('COMPLETED')
    expect(attributes).toContain('"NoderollPhase": "ended"')
    expect(bed.acts().filter((act) => act.endsWith('w-5') || act.endsWith('w-6'))).toEqual([])
  })
})
