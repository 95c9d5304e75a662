import { randomUUID } from 'node:crypto'
import { Client, Connection } from '@temporalio/client'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Executions } from '../../../src/ports/executions.js'
import { temporalExecutions } from '../../../src/providers/temporal/executions.js'
import { realTemporal } from '../../support/parts.js'
import { portError } from '../kubernetes/bed.js'

/** Temporal's COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION. */
const CONTINUE_AS_NEW = 10

let temporal: Awaited<ReturnType<typeof realTemporal>>
let connection: Connection
let client: Client
let workflowId: string
const open: Connection[] = []

beforeAll(async () => {
  temporal = await realTemporal()
  connection = await Connection.connect({ address: temporal.address })
  client = new Client({ connection, namespace: temporal.namespace })
})
beforeEach(() => {
  workflowId = `cluster-rollout/${randomUUID()}`
})
afterAll(async () => {
  for (const one of [connection, ...open]) await one?.close()
})

/** What the fields are of which other servers say something else than the one at hand. */
interface Changes {
  description?(info: { firstRunId?: string | null; status?: number | null }): object | null
  firstEvent?(started: { firstExecutionRunId?: string | null }): void
}

/** Who asks the server whether holders still run, and hears the answers of another one. */
async function asking({ description, firstEvent }: Changes): Promise<Executions> {
  const own = await Connection.connect({ address: temporal.address })
  open.push(own)
  const { workflowService } = own
  const { describeWorkflowExecution, getWorkflowExecutionHistory } = workflowService
  Object.assign(workflowService, {
    describeWorkflowExecution: async (asked: object) => {
      const answer = await describeWorkflowExecution(asked)
      const info = answer.workflowExecutionInfo
      return info && description ? { ...answer, workflowExecutionInfo: description(info) } : answer
    },
    getWorkflowExecutionHistory: async (asked: object) => {
      const answer = await getWorkflowExecutionHistory(asked)
      firstEvent?.(answer.history?.events?.[0]?.workflowExecutionStartedEventAttributes ?? {})
      return answer
    },
  })
  return await temporalExecutions(own, { ...temporal, taskQueue: 'none' }, [])
}

/** Servers before August 2024 do not know the field, and what is not there is empty. */
const OLD: Changes = { description: (info) => ({ ...info, firstRunId: '' }) }

/** A run that nobody works on: open until it is ended. */
async function begin(): Promise<string> {
  const handle = await client.workflow.start('clusterRollout', { workflowId, taskQueue: workflowId })
  return handle.firstExecutionRunId
}

async function continueAsNew(): Promise<void> {
  const queue = { namespace: temporal.namespace, taskQueue: { name: workflowId } }
  const { taskToken } = await connection.withDeadline(Date.now() + 10_000, () =>
    connection.workflowService.pollWorkflowTaskQueue(queue),
  )
  await connection.workflowService.respondWorkflowTaskCompleted({
    namespace: temporal.namespace,
    taskToken,
    commands: [
      {
        commandType: CONTINUE_AS_NEW,
        continueAsNewWorkflowExecutionCommandAttributes: {
          workflowType: { name: 'clusterRollout' },
          taskQueue: queue.taskQueue,
        },
      },
    ],
  })
}

const end = () => client.workflow.getHandle(workflowId).terminate()

function ask(executions: Executions, firstRunId: string) {
  return executions.chain(workflowId, firstRunId, new AbortController().signal)
}

describe.each<[string, Changes]>([
  ['that tells the first run of a chain', {}],
  ['too old to tell the first run of a chain', OLD],
])('a Temporal server %s', (_, change) => {
  it('CKS-24 says that a rollout at its first run is open, and when it has ended', async () => {
    const executions = await asking(change)
    const firstRunId = await begin()

    expect(await ask(executions, firstRunId)).toBe('open')

    await end()
    expect(await ask(executions, firstRunId)).toBe('closed')
  })

  it('CKS-24 says that a rollout that was continued as new is open, and when it has ended', async () => {
    const executions = await asking(change)
    const firstRunId = await begin()
    await continueAsNew()
    await continueAsNew()

    expect(await ask(executions, firstRunId)).toBe('open')

    await end()
    expect(await ask(executions, firstRunId)).toBe('closed')
  })

  it('CKS-24 says that a rollout has ended after which another began under its name', async () => {
    const executions = await asking(change)
    const firstRunId = await begin()
    await end()
    const second = await begin()

    expect(await ask(executions, firstRunId)).toBe('closed')
    expect(await ask(executions, second)).toBe('open')
    await end()
  })

  it('CKS-24 says that one it does not know has ended', async () => {
    const executions = await asking(change)

    expect(await ask(executions, randomUUID())).toBe('closed')
  })
})

it.each<[string, Changes]>([
  ['nothing about the execution', { description: () => null }],
  ['a status that nobody knows', { description: (info) => ({ ...info, status: 99 }) }],
  [
    'its first run nowhere',
    {
      ...OLD,
      firstEvent: (started) => {
        started.firstExecutionRunId = ''
      },
    },
  ],
])('CKS-24 a Temporal server that tells %s has not said that the rollout ended', async (_, change) => {
  const firstRunId = await begin()
  await continueAsNew()

  await expect(ask(await asking(change), firstRunId)).rejects.toEqual(
    portError('unreachable', /^the Temporal server did not say whether cluster-rollout\S+ still runs/),
  )
  await end()
})
