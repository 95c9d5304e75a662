import { Client, Connection } from '@temporalio/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CommandBed, type CommandProcess } from '../cli/command.js'
import { stubSpec } from '../client/stub-worker.js'
import { realTemporal } from '../support/parts.js'
import { freePort } from '../support/ports.js'
import { waitUntil } from '../support/wait.js'

const TASK_QUEUE = 'paced'
const PER_SECOND = 4
const ROLLOUTS = 24

interface Start {
  readonly at: number
  readonly identity: string
}

describe('the pace of a task queue', () => {
  let connection: Connection
  let client: Client
  let bed: CommandBed
  let bundle: string

  beforeAll(async () => {
    const { address, namespace } = await realTemporal()
    connection = await Connection.connect({ address })
    client = new Client({ connection, namespace })
    bed = await CommandBed.open({ TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace })
    bundle = `${bed.folder}/workflows.js`
    expect(await bed.run(['worker', '--write-bundle', bundle])).toMatchObject({ code: 0, stderr: '' })
  })
  afterAll(async () => {
    await bed.close()
    await connection.close()
  })

  it('is kept by two workers together, however much there is to do at once', async () => {
    const workers = await Promise.all([startWorker(), startWorker()])

    // Each is one step: the worker refuses the spec.
    const spec = stubSpec('prod', { machines: { provider: 'nimbus' } })
    const asked = Date.now()
    const plans = await Promise.all(
      Array.from({ length: ROLLOUTS }, (_, at) =>
        client.workflow.start('planRollout', {
          ...{ taskQueue: TASK_QUEUE, workflowId: `paced-${at}`, args: [spec] },
        }),
      ),
    )
    await Promise.all(plans.map((plan) => plan.result().catch(() => undefined)))

    const starts = (await Promise.all(plans.map((plan) => startsOf(plan.workflowId)))).flat()
    expect(starts).toHaveLength(ROLLOUTS)
    expect(new Set(starts.map(({ identity }) => identity)).size).toBe(2)
    // The server lets two seconds' worth go at once; with a pace for each worker it would take half as long.
    const times = starts.map(({ at }) => at).sort((a, b) => a - b)
    const seconds = ((times.at(-1) ?? 0) - asked) / 1000
    expect(seconds).toBeGreaterThan((ROLLOUTS - 2 * PER_SECOND) / PER_SECOND - 0.1)
    for (const worker of workers) worker.signal('SIGTERM')
    await Promise.all(workers.map((worker) => worker.ended))
  })

  async function startWorker(): Promise<CommandProcess> {
    const port = `${await freePort()}`
    const worker = bed.start(
      ['worker', '--task-queue', TASK_QUEUE, '--activities-per-second', `${PER_SECOND}`],
      { NODEROLL_WORKFLOW_BUNDLE: bundle, NODEROLL_HEALTH_PORT: port },
    )
    await waitUntil(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200, {
      for: 'the worker to be ready',
    })
    return worker
  }

  async function startsOf(workflowId: string): Promise<Start[]> {
    const { events } = await client.workflow.getHandle(workflowId).fetchHistory()
    return (events ?? []).flatMap(({ eventTime, activityTaskStartedEventAttributes: started }) =>
      started === null || started === undefined
        ? []
        : [
            {
              at: Number(eventTime?.seconds) * 1000 + Number(eventTime?.nanos) / 1e6,
              identity: started.identity ?? '',
            },
          ],
    )
  }
})
