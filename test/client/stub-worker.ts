import { once } from 'node:events'
import { Context } from '@temporalio/activity'
import { ApplicationFailure } from '@temporalio/common'
import { NativeConnection, Worker } from '@temporalio/worker'
import type { PlanReport, Released, RolloutActivities } from '../../src/api/activities.js'
import { failure } from '../../src/api/failures.js'
import { type BatchNode, batchNodeName, type PoolCounts, type Position } from '../../src/core/batch.js'
import type { NextBatch } from '../../src/core/next-batch.js'
import { parseRollout, parseTarget, sayProblems } from '../../src/spec/parse.js'
import { workflowBundle } from '../support/bundle.js'
import '../support/quiet-runtime.js'
import { waitUntil } from '../support/wait.js'

export interface StubWorkerOptions {
  readonly address: string
  readonly namespace: string
  readonly taskQueue: string
  readonly workers?: number
  /** Steps that do something else. */
  readonly activities?: Partial<RolloutActivities>
}

/**
 * The real workflows over steps that touch nothing and write down that they were called: here only what a client says and
 * hears is under test. Drains wait at a gate when it is closed.
 */
export class StubWorker {
  /** `drainNode w-1`, in order. */
  readonly calls: string[] = []
  readonly positions: Position[] = []
  private readonly names: readonly string[]
  private readonly rolled = new Map<string, Set<string>>()
  private gate: { readonly opened: Promise<void>; open(): void } | null = null
  private stopping: (() => Promise<void>) | null = null

  private constructor(workers: number) {
    this.names = Array.from({ length: workers }, (_, index) => `w-${index + 1}`)
  }

  static async start(options: StubWorkerOptions): Promise<StubWorker> {
    const stub = new StubWorker(options.workers ?? 2)
    const connection = await NativeConnection.connect({ address: options.address })
    const worker = await Worker.create({
      connection,
      namespace: options.namespace,
      taskQueue: options.taskQueue,
      workflowBundle: await workflowBundle(),
      activities: stub.written({ ...stub.steps(), ...options.activities }),
      shutdownGraceTime: '1 second',
      maxHeartbeatThrottleInterval: '200 milliseconds',
      defaultHeartbeatThrottleInterval: '200 milliseconds',
    })
    const running = worker.run()
    await waitUntil(() => isPolled(connection, options), { for: 'the worker to poll' })
    stub.stopping = async () => {
      stub.openGate()
      worker.shutdown()
      await running
      await connection.close()
    }
    return stub
  }

  async stop(): Promise<void> {
    await this.stopping?.()
    this.stopping = null
  }

  closeGate(): void {
    const opening = new AbortController()
    const opened = once(opening.signal, 'abort').then(() => undefined)
    this.gate = { opened, open: () => opening.abort() }
  }

  openGate(): void {
    this.gate?.open()
    this.gate = null
  }

  /** As if its nodes had never been rolled. */
  forget(cluster: string): void {
    this.rolled.delete(cluster)
  }

  private written(steps: RolloutActivities): RolloutActivities {
    const entries = Object.entries(steps).map(([name, step]) => [
      name,
      async (input: { node?: BatchNode }) => {
        this.calls.push(input.node === undefined ? name : `${name} ${batchNodeName(input.node)}`)
        return (step as (given: unknown) => Promise<unknown>)(input)
      },
    ])
    return Object.fromEntries(entries) as RolloutActivities
  }

  private steps(): RolloutActivities {
    const nothing = async () => undefined
    return {
      checkSpec: async ({ spec }) => {
        const parsed = parseRollout(spec)
        if (!parsed.ok) throw failure('InvalidSpec', sayProblems(parsed.problems))
        return { spec: parsed.value, searchAttributes: false }
      },
      checkTarget: async ({ request }) => {
        const parsed = parseTarget(request)
        if (!parsed.ok) throw failure('InvalidSpec', sayProblems(parsed.problems))
        return parsed.value
      },
      takeLease: async () => ({ tookOver: false }),
      beginRollout: nothing,
      checkSettings: nothing,
      storeSettings: nothing,
      letGo: nothing,
      nextBatch: async ({ spec, position }) => this.nextBatch(spec.target.cluster, position),
      preflightBatch: nothing,
      cordonNodes: async ({ batch }) =>
        batch.nodes.map(({ machineId }) => ({ kind: 'cordoned', machineId, baseline: BASELINE })),
      drainNode: async () => {
        await this.throughGate()
        return { evicted: 0 }
      },
      stopMachine: async () => ({ kind: 'stopped' }),
      resizeMachine: nothing,
      startMachine: async () => ({ kind: 'running' }),
      restoreMachine: async () => ({ kind: 'running', wasDown: true }),
      verifyNode: async (job) => {
        const done = this.rolled.get(job.target.cluster) ?? new Set()
        this.rolled.set(job.target.cluster, done.add(batchNodeName(job.node)))
        return { warnings: [] }
      },
      undoNodes: async ({ jobs }) =>
        jobs.map(({ node }) => ({
          name: batchNodeName(node),
          machineId: node.machineId,
          kind: 'restored',
          why: '',
        })),
      quarantineNode: async () => ({ kind: 'quarantined' }),
      failNode: async () => ({ machine: 'running' }),
      release: async ({ target, outcome }) => ({
        ...this.released(target.cluster),
        lastError: outcome?.lastError ?? null,
      }),
      lookForRelease: async ({ target }) => ({ needed: true, report: this.released(target.cluster) }),
      readPlan: async ({ spec }) => this.plan(spec.target.cluster),
      readStatus: async ({ target, page }) => ({
        cluster: target.cluster,
        state: 'Running',
        holder: null,
        holderSince: null,
        lastError: null,
        capacity: { machines: this.names.length, cpu: 4, memoryMiB: 8192 },
        pools: this.counts(target.cluster).map((pool) => ({
          ...pool,
          settings: { offerings: ['large'], rootDiskGiB: null, affinityGroups: null },
          outOfDateNodes: this.left(target.cluster),
        })),
        marked: [],
        problems: [],
        nextPage: page === 0 ? 1 : null,
      }),
    }
  }

  private nextBatch(cluster: string, position: Position): NextBatch {
    this.positions.push(position)
    const view = { counts: this.counts(cluster), skipped: [], notes: [] }
    const [name] = this.left(cluster)
    if (name === undefined) return { kind: 'done', view }
    return {
      kind: 'batch',
      view,
      batch: { pool: 'worker', type: 'worker', recovery: false, nodes: [batchNode(name)] },
    }
  }

  private plan(cluster: string): PlanReport {
    const left = this.left(cluster)
    return {
      cluster,
      batches: left.map((name) => ({
        pool: 'worker',
        recovery: false,
        nodes: [`${name}: offering small, not large`],
      })),
      batchCount: left.length,
      nodeCount: left.length,
      startsStopped: [],
      skipped: [],
      notes: [],
      warnings: [],
      refusals: [],
      pools: this.counts(cluster),
    }
  }

  private released(cluster: string): Released {
    return {
      state: 'Running',
      capacity: { machines: this.names.length, cpu: 4, memoryMiB: 8192 },
      givenBack: [],
      leftCordoned: [],
      unhealthy: [],
      pools: this.counts(cluster).map((counts) => ({ ...counts, settings: null })),
      lastError: null,
    }
  }

  private left(cluster: string): string[] {
    return this.names.filter((name) => !this.rolled.get(cluster)?.has(name))
  }

  private counts(cluster: string): PoolCounts[] {
    const outOfDate = this.left(cluster).length
    return [{ pool: 'worker', type: 'worker', machines: this.names.length, outOfDate, unavailable: 0 }]
  }

  /** Beats while it waits, as a drain does: a cancel comes with the answer to a heartbeat. */
  private async throughGate(): Promise<void> {
    const context = Context.current()
    const beat = setInterval(() => context.heartbeat(), 100)
    try {
      await Promise.race([this.gate?.opened, context.cancelled])
    } finally {
      clearInterval(beat)
    }
  }
}

async function isPolled(connection: NativeConnection, { namespace, taskQueue }: StubWorkerOptions) {
  const request = { namespace, taskQueue: { name: taskQueue }, taskQueueType: 1 }
  const { pollers } = await connection.workflowService.describeTaskQueue(request)
  return (pollers ?? []).length > 0
}

/** For a step that is to fail for good. */
export function refusing(type: string, message: string): () => Promise<never> {
  return async () => {
    throw ApplicationFailure.nonRetryable(message, type)
  }
}

/** A spec for the stub; what is given comes on top. */
export function stubSpec<T extends object>(cluster: string, changes?: T) {
  return {
    cluster,
    kubernetes: { context: 'prod' },
    machines: { provider: 'simulated', url: 'http://127.0.0.1:9' },
    pools: { worker: { offering: 'large', maxUnavailable: 1 } },
    rollout: true,
    ...changes,
  }
}

const BASELINE = {
  bootId: 'boot-1',
  uid: 'uid-1',
  ephemeralStorageKiB: null,
  cordonedByOthers: false,
  foundMarked: false,
  expectNewBoot: true,
}

function batchNode(name: string): BatchNode {
  return {
    node: name,
    machineId: `id-${name}`,
    machineName: name,
    providerId: null,
    pool: 'worker',
    type: 'worker',
    how: 'roll',
    etcdMember: false,
    why: 'offering small, not large',
    was: { offering: 'small', rootDiskGiB: null, affinityGroups: [] },
    wants: { offerings: ['large'], rootDiskGiB: null, affinityGroups: null },
  }
}
