import { randomUUID } from 'node:crypto'
import { MockActivityEnvironment } from '@temporalio/testing'
import { drainNode } from '../../src/activities/drain-node.js'
import type { Drained, NodeJob } from '../../src/api/activities.js'
import { sayHolder } from '../../src/core/holder.js'
import { attemptAnnotation, MARK_KEYS } from '../../src/core/marks.js'
import type { DrainPolicy } from '../../src/core/spec.js'
import type { Executions } from '../../src/ports/executions.js'
import { createWorld } from '../../src/worker/world.js'
import { addNode, Bed, NODES, PODS, patient } from '../providers/kubernetes/bed.js'
import type { AuditRecord } from '../support/audit.js'
import { aBatchNode, aWorker, DRAIN_POLICY } from '../support/builders.js'
import type { KubeObject } from '../support/kube-api.js'
import { waitUntil } from '../support/wait.js'

const ROLLOUT = { workflowId: 'cluster-rollout/prod', firstRunId: 'first-run' }
export const RUN = 'run-1'
const TOKEN = 'token-1'

/** Asked for its name only: nobody takes a Lease over here. */
export const EXECUTIONS: Executions = {
  server: 'temporal.example:7233',
  namespace: 'default',
  host: 'localhost',
  searchAttributes: false,
  workers: async () => [],
  chain: async () => 'open',
}

export interface PodOptions {
  readonly labels?: Readonly<Record<string, string>>
  readonly priorityClassName?: string
  readonly finalizers?: readonly string[]
  readonly claims?: readonly string[]
  readonly owner?: object
  readonly namespace?: string
  /** 0: gone as soon as it is asked to go. Anything else: when the test says so. */
  readonly graceSeconds?: number
  readonly ready?: boolean
  readonly phase?: string
}

export interface StartOptions {
  readonly policy?: Partial<DrainPolicy>
  readonly limitSeconds?: number
  /** The workflow asked for this drain so long ago. */
  readonly askedSecondsAgo?: number
  readonly node?: string
}

/** The drain step on a real control plane, behind a proxy, with the rights of deploy/rbac.yaml and no kubelets. */
export class DrainBed {
  readonly parts: Bed
  #audited = 0
  readonly #running: Draining[] = []

  private constructor(parts: Bed) {
    this.parts = parts
  }

  static async open(): Promise<DrainBed> {
    return new DrainBed(await Bed.start())
  }

  /** A cluster with the node w-1, marked and cordoned by a rollout that holds the Lease. */
  async begin(): Promise<void> {
    await this.parts.clean()
    const { records } = await this.parts.open({})
    const holder = sayHolder({ ...EXECUTIONS, ...ROLLOUT })
    await records.writeLease({ holder, since: new Date().toISOString() }, null, patient())
    await this.addMarkedNode('w-1')
    this.#audited = await this.parts.controlPlane.audit.mark()
  }

  async addMarkedNode(name: string): Promise<void> {
    const { metadata, status } = await addNode(this.parts.admin, name)
    const bootId: string = status.nodeInfo.bootID
    const attempt = attemptAnnotation({
      rollout: 'prod',
      run: RUN,
      token: TOKEN,
      at: new Date().toISOString(),
      bootId,
      uid: metadata.uid ?? '',
      added: { labels: {}, annotations: {} },
    })
    await this.parts.admin.ok('PATCH', `${NODES}/${name}`, {
      metadata: { annotations: { [MARK_KEYS.bootId]: bootId, [MARK_KEYS.attempt]: attempt } },
      spec: { unschedulable: true },
    })
  }

  /** Ends what a test left running. */
  async end(): Promise<void> {
    await this.parts.proxy.reset()
    for (const drain of this.#running.splice(0)) {
      drain.cancel()
      await drain.end.catch(() => undefined)
    }
  }

  async close(): Promise<void> {
    await this.parts.stop()
  }

  /** A pod on w-1 that nothing would bring back, ready. */
  async addPod(name: string, options: PodOptions = {}, node = 'w-1'): Promise<KubeObject> {
    const { admin } = this.parts
    const pods = PODS.replace('default', options.namespace ?? 'default')
    await admin.ok('POST', pods, {
      metadata: {
        name,
        labels: { app: name, ...options.labels },
        finalizers: options.finalizers ?? [],
        ownerReferences: options.owner === undefined ? [] : [options.owner],
      },
      spec: {
        nodeName: node,
        terminationGracePeriodSeconds: options.graceSeconds ?? 0,
        ...(options.priorityClassName && { priorityClassName: options.priorityClassName }),
        volumes: (options.claims ?? []).map((claimName) => ({
          name: claimName,
          persistentVolumeClaim: { claimName },
        })),
        tolerations: [{ operator: 'Exists' }],
        containers: [{ name: 'main', image: 'registry.example/app:1' }],
      },
    })
    return await this.setStatus(`${pods}/${name}`, options)
  }

  async setStatus(path: string, { phase = 'Running', ready = true }: PodOptions): Promise<KubeObject> {
    return await this.parts.admin.ok('PATCH', `${path}/status`, {
      status: { phase, conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
    })
  }

  /** What a kubelet does when a pod's containers have ended. */
  async endPod(name: string): Promise<void> {
    await this.parts.admin.ok('DELETE', `${PODS}/${name}`, {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      gracePeriodSeconds: 0,
    })
  }

  start({ policy, limitSeconds = 60, askedSecondsAgo = 0, node = 'w-1' }: StartOptions = {}): Draining {
    const draining = new Draining(this, { policy: policy ?? {}, limitSeconds, askedSecondsAgo, node })
    this.#running.push(draining)
    return draining
  }

  /** Another attempt of the same step: the workflow's input is what it was. */
  startFor(before: Draining): Draining {
    const draining = new Draining(this, before.options, before.job, before.heartbeat)
    this.#running.push(draining)
    return draining
  }

  /** Runs a drain to its end. */
  async drain(options: StartOptions = {}): Promise<Drained> {
    return await this.start(options).end
  }

  /** The requests of noderoll since `begin`, as the API server has them. */
  async requests(filter: Partial<AuditRecord> = {}): Promise<AuditRecord[]> {
    const { audit } = this.parts.controlPlane
    await audit.settled()
    const asked = await audit.since(this.#audited, { user: 'noderoll', ...filter })
    // The log has them in the order of their answers.
    return asked.sort((a, b) => a.time - b.time)
  }

  /** Names of the pods whose eviction was asked for, in order. */
  async evictions(code?: number): Promise<string[]> {
    const asked = await this.requests({ subresource: 'eviction', ...(code === undefined ? {} : { code }) })
    return asked.map(({ name }) => name)
  }

  async untilEvicted(name: string): Promise<void> {
    await waitUntil(
      async () => {
        const { status, body } = await this.parts.admin.call('GET', `${PODS}/${name}`)
        return status === 404 || body.metadata.deletionTimestamp !== undefined
      },
      { for: `pod ${name} to go` },
    )
  }

  /** Until RBAC lets noderoll do this. */
  async untilAllowed(method: string, path: string): Promise<void> {
    const noderoll = this.parts.controlPlane.apiOf('noderoll')
    await waitUntil(async () => (await noderoll.call(method, path)).status !== 403, {
      for: 'the rule to be known',
    })
    noderoll.close()
    this.#audited = await this.parts.controlPlane.audit.mark()
  }

  /** Another rollout takes the cluster over. */
  async loseLease(): Promise<void> {
    const { records } = await this.parts.open({})
    const { version } = await records.lease(patient())
    await records.writeLease({ holder: 'somebody else', since: null }, version, patient())
  }

  async loseMark(name: string): Promise<void> {
    await this.parts.admin.ok('PATCH', `${NODES}/${name}`, {
      metadata: { annotations: { [MARK_KEYS.attempt]: null } },
    })
  }

  async job(node: string): Promise<NodeJob> {
    const access = await this.parts.access({ proxy: this.parts.proxy })
    const { metadata, status } = await this.parts.admin.ok('GET', `${NODES}/${node}`)
    return {
      target: {
        cluster: 'prod',
        kubernetes: access,
        machines: { provider: 'simulated', options: { url: 'http://127.0.0.1:1', cluster: 'prod' } },
        etcd: null,
      },
      rollout: ROLLOUT,
      token: TOKEN,
      node: aBatchNode(aWorker(node), 'roll', { providerId: null }),
      baseline: {
        bootId: status.nodeInfo.bootID,
        uid: metadata.uid ?? null,
        ephemeralStorageKiB: null,
        cordonedByOthers: false,
        foundMarked: false,
        expectNewBoot: true,
      },
    }
  }
}

/** One drain under way. */
export class Draining {
  readonly end: Promise<Drained>
  readonly options: Required<StartOptions>
  readonly job: Promise<NodeJob>
  readonly #environment: MockActivityEnvironment
  /** The details of the last one. */
  heartbeat: unknown
  #waitsFor: readonly string[] = []

  constructor(
    bed: DrainBed,
    options: Required<StartOptions>,
    job = bed.job(options.node),
    heartbeatDetails?: unknown,
  ) {
    const { policy, limitSeconds, askedSecondsAgo } = options
    this.options = options
    this.job = job
    this.#environment = new MockActivityEnvironment({
      workflowExecution: { workflowId: randomUUID(), runId: RUN },
      scheduledTimestampMs: Date.now() - askedSecondsAgo * 1000,
      scheduleToCloseTimeoutMs: 3_600_000,
      heartbeatDetails,
    })
    this.#environment.on('heartbeat', (details: { waitsFor?: readonly string[] } | undefined) => {
      this.heartbeat = details
      this.#waitsFor = details?.waitsFor ?? this.#waitsFor
    })
    const step = drainNode(createWorld(EXECUTIONS))
    const wanted: DrainPolicy = { ...DRAIN_POLICY, barePods: 'evict', ...policy }
    const run = async () => {
      const input = { ...(await job), policy: wanted, limitSeconds }
      return (await this.#environment.run(step, input)) as Drained
    }
    this.end = run()
    // Looked at by whoever waits for it.
    this.end.catch(() => undefined)
  }

  cancel(): void {
    this.#environment.cancel()
  }

  /** Until a heartbeat says that the drain waits for this. */
  async untilWaitsFor(pattern: RegExp): Promise<readonly string[]> {
    return await waitUntil(() => this.#waitsFor.some((why) => pattern.test(why)) && this.#waitsFor, {
      for: `the drain to wait for ${pattern}`,
      timeoutMs: 15_000,
    })
  }
}
