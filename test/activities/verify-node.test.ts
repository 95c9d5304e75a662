import { randomUUID } from 'node:crypto'
import { MockActivityEnvironment } from '@temporalio/testing'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { verifyNode } from '../../src/activities/verify-node.js'
import type { Limits } from '../../src/core/spec.js'
import type { World } from '../../src/ports/connections.js'
import { PortError } from '../../src/ports/errors.js'
import type { Machines } from '../../src/ports/machines.js'
import { createWorld } from '../../src/worker/world.js'
import { aWorker, someSettings } from '../support/builders.js'
import { DrainBed, EXECUTIONS, RUN } from './drain-bed.js'

let bed: DrainBed

beforeAll(async () => {
  bed = await DrainBed.open()
})
beforeEach(() => bed.begin())
afterEach(() => bed.end())
afterAll(() => bed?.close())

const LIMITS: Limits = {
  ...{ batchSeconds: 1_800, changeReserveSeconds: 600, preflightSeconds: 600, machineSeconds: 600 },
  ...{ verifySeconds: 60, settleSeconds: 0, waitsForCriticalPods: true, releaseSeconds: 600 },
}

/** The real cluster, whose watches of pods are counted, and a provider that answers as told. */
class OneMachine {
  readonly looks: number[] = []
  openWatches = 0
  readonly #awayAt: number | null

  /** `awayAt`: the look, counted from 0, that it does not answer. */
  constructor(awayAt: number | null = null) {
    this.#awayAt = awayAt
  }

  get world(): World {
    const world = createWorld(EXECUTIONS)
    return { ...world, connect: async (target) => this.#around(await world.connect(target)) }
  }

  #around(found: Awaited<ReturnType<World['connect']>>): typeof found {
    const machines = { get: async () => this.#look() } satisfies Partial<Machines> as unknown as Machines
    const keepPodsOn: typeof found.cluster.keepPodsOn = (...asked) => {
      const kept = found.cluster.keepPodsOn(...asked)
      this.openWatches++
      return {
        current: kept.current,
        close: () => {
          this.openWatches--
          kept.close()
        },
      }
    }
    return { ...found, machines, cluster: { ...found.cluster, keepPodsOn } }
  }

  #look() {
    const isAway = this.looks.length === this.#awayAt
    this.looks.push(performance.now())
    if (isAway) throw new PortError('unreachable', 'the provider does not answer')
    return aWorker('w-1').machine
  }
}

async function verify(provider: OneMachine, limits: Partial<Limits>, askedSecondsAgo = 0): Promise<unknown> {
  const job = await bed.job('w-1')
  const environment = new MockActivityEnvironment({
    workflowExecution: { workflowId: randomUUID(), runId: RUN },
    scheduledTimestampMs: Date.now() - askedSecondsAgo * 1000,
    scheduleToCloseTimeoutMs: 3_600_000,
  })
  return await environment.run(verifyNode(provider.world), {
    ...job,
    baseline: { ...job.baseline, bootId: 'before' },
    settings: someSettings({}),
    limits: { ...LIMITS, ...limits },
  })
}

describe('the verify step', () => {
  it('CKS-18 begins its settle time anew when nobody could say meanwhile how things are', async () => {
    const provider = new OneMachine(1)

    await verify(provider, { settleSeconds: 1 })

    const [, , again = Number.NaN] = provider.looks
    expect((provider.looks.at(-1) ?? 0) - again).toBeGreaterThanOrEqual(990)
  })

  it('CKS-18 leaves no watch behind when its time is over at the first look', async () => {
    await bed.addPod('agent', { priorityClassName: 'system-node-critical', ready: false })
    const provider = new OneMachine()

    await expect(verify(provider, { verifySeconds: 1 }, 10)).rejects.toMatchObject({
      type: 'VerifyFailed',
      message: expect.stringContaining('pod default/agent is not ready'),
    })

    expect(provider.openWatches).toBe(0)
  })
})
