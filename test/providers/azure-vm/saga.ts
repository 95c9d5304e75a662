import { ActivityFailure, ApplicationFailure, RetryState } from '@temporalio/common'
import { MockActivityEnvironment } from '@temporalio/testing'
import { DefaultLogger } from '@temporalio/worker'
import { resizeMachine } from '../../../src/activities/resize-machine.js'
import { restoreMachine } from '../../../src/activities/restore-machine.js'
import { startMachine } from '../../../src/activities/start-machine.js'
import { stopMachine } from '../../../src/activities/stop-machine.js'
import type { NodeJob } from '../../../src/api/activities.js'
import { sayHolder } from '../../../src/core/holder.js'
import type { Machine } from '../../../src/core/model.js'
import { settingsOfMachine } from '../../../src/core/next-batch.js'
import type { RolloutSpec } from '../../../src/core/spec.js'
import type { World } from '../../../src/ports/connections.js'
import type { Machines } from '../../../src/ports/machines.js'
import '../../support/quiet-runtime.js'

const ROLLOUT = { workflowId: 'cluster-rollout/prod', firstRunId: 'run-1' }
const SERVER = { server: 'temporal', namespace: 'default' }
const BUDGET_MS = 60_000

/** A world of machines only: the node is one of external etcd, so no step looks at Kubernetes but for the Lease. */
export function worldOf(machines: Machines): World {
  const holder = sayHolder({ ...SERVER, ...ROLLOUT })
  const connections = {
    machines,
    controlPlane: null,
    records: { lease: async () => ({ value: { holder, since: null }, version: '1' }) },
  }
  return { executions: SERVER, connect: async () => connections, checkTarget: () => [] } as unknown as World
}

export function jobFor(machine: Machine, wants: NodeJob['node']['wants']): NodeJob {
  return {
    target: {} as NodeJob['target'],
    rollout: ROLLOUT,
    token: 'token-1',
    node: {
      ...{ node: null, machineId: machine.id, machineName: machine.name, providerId: machine.providerId },
      ...{ pool: 'worker', type: 'worker', how: 'roll', etcdMember: false, why: 'a test' },
      was: settingsOfMachine(machine),
      wants,
    },
    baseline: {
      ...{ bootId: null, uid: null, ephemeralStorageKiB: null, cordonedByOthers: false },
      ...{ foundMarked: false, expectNewBoot: false },
    },
  }
}

export const SPEC = { limits: { machineSeconds: BUDGET_MS / 1000, changeReserveSeconds: 5 } } as RolloutSpec

type Run = (name: string, input: unknown) => Promise<unknown>

/** Who runs the steps of the strategy in place of Temporal. One for all test files, as the strategy's module is. */
export const steps: { run: Run } = {
  run: () => Promise.reject(new Error('nobody runs the steps yet')),
}

/** In the place of `step` of src/workflows/steps.ts. */
export function stepHere(name: string, _options: unknown, input: unknown): Promise<unknown> {
  return steps.run(name, typeof input === 'function' ? input() : input)
}

/** Runs a step as a worker would, attempt after attempt, but without the pauses between them. */
export function runner(world: World): Run {
  const known: Record<string, (input: never) => Promise<unknown>> = {
    stopMachine: stopMachine(world),
    resizeMachine: resizeMachine(world),
    startMachine: startMachine(world),
    restoreMachine: restoreMachine(world),
  }
  return async (name, input) => {
    const scheduledTimestampMs = Date.now()
    let heartbeatDetails: unknown
    for (let attempt = 1; ; attempt++) {
      const info = { attempt, heartbeatDetails, scheduledTimestampMs, scheduleToCloseTimeoutMs: BUDGET_MS }
      // Refusals are what these tests are about; each would be logged.
      const environment = new MockActivityEnvironment(info, { logger: new DefaultLogger('ERROR') })
      environment.on('heartbeat', (details: unknown) => {
        heartbeatDetails = details
      })
      try {
        return await environment.run(known[name] as (input: unknown) => Promise<unknown>, input)
      } catch (error) {
        const mayRetry = !(error instanceof ApplicationFailure && error.nonRetryable) && attempt < 10
        if (mayRetry) continue
        throw new ActivityFailure(
          undefined,
          name,
          '1',
          RetryState.NON_RETRYABLE_FAILURE,
          'worker',
          error as Error,
        )
      }
    }
  }
}
