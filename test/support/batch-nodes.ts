import { expect, onTestFinished } from 'vitest'
import { actingAnnotation, attemptAnnotation, failureAnnotation, MARK_KEYS } from '../../src/core/marks.js'
import type { Added } from '../../src/core/model.js'
import type { AuditRecord } from './audit.js'
import type { KubeObject } from './kube-api.js'
import { FaultProxy } from './proxy.js'
import type { Node, RolloutBed } from './rollout-bed.js'
import { waitUntil } from './wait.js'

/** What K1 compares: labels, annotations and spec of every node. */
export type Found = Readonly<
  Record<string, Pick<Node['metadata'], 'labels' | 'annotations'> & { spec: object }>
>

/** The nodes as they are once the controllers have written on them what they write on new ones. */
export async function found(bed: RolloutBed): Promise<Found> {
  await waitUntil(
    async () =>
      (await bed.nodes()).every(
        (node) =>
          'node.alpha.kubernetes.io/ttl' in (node.metadata.annotations ?? {}) &&
          'beta.kubernetes.io/os' in (node.metadata.labels ?? {}) &&
          !isTainted(node, 'node.kubernetes.io/not-ready') &&
          isTainted(node, 'node.kubernetes.io/unschedulable') === isCordoned(node),
      ),
    { for: 'nodes that the controllers are done with' },
  )
  return look(bed)
}

/** K1: labels, annotations and spec are what they were; a cordon's taint is the node controller's to remove. */
export async function expectAsFound(bed: RolloutBed, before: Found): Promise<void> {
  let seen: Found = {}
  const asBefore = async () => {
    seen = await look(bed)
    return JSON.stringify(seen) === JSON.stringify(before)
  }
  await waitUntil(asBefore, { for: 'nodes as found' }).catch(() => undefined)
  expect(seen).toEqual(before)
}

async function look(bed: RolloutBed): Promise<Found> {
  const nodes = await bed.nodes()
  return Object.fromEntries(
    nodes.map(({ metadata, spec }) => [
      metadata.name,
      { labels: metadata.labels ?? {}, annotations: metadata.annotations ?? {}, spec },
    ]),
  )
}

/** What noderoll wrote on nodes since a position of the audit log. */
export async function nodeWrites(bed: RolloutBed, since: number, name?: string): Promise<AuditRecord[]> {
  await bed.kube.audit.settled()
  const writes = await bed.kube.audit.writes(since, 'noderoll')
  return writes.filter((write) => write.resource === 'nodes' && (name === undefined || write.name === name))
}

/** The reasons of the events on a node; with a UID only those on that very object. */
export async function eventsOn(bed: RolloutBed, name: string, uid?: string): Promise<string[]> {
  return (await nodeEvents(bed, name, uid)).map((event) => event.reason)
}

/** The events on a node, as the API server keeps them. */
export async function nodeEvents(bed: RolloutBed, name: string, uid?: string): Promise<KubeObject[]> {
  const events = await bed.kube.api.list(
    `/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D${name}`,
  )
  return events.filter(
    (event) =>
      event.source?.component === 'noderoll' && (uid === undefined || event.involvedObject?.uid === uid),
  )
}

/** Events are told beside the steps, which wait for none of them. */
export async function untilEvent(bed: RolloutBed, name: string, reason: string): Promise<void> {
  await waitUntil(async () => (await eventsOn(bed, name)).includes(reason), { for: `${reason} on ${name}` })
}

/** Changes a node as an administrator would. */
export async function patchNode(bed: RolloutBed, name: string, patch: object): Promise<void> {
  await bed.kube.api.ok('PATCH', `/api/v1/nodes/${name}`, patch)
}

export async function cordon(bed: RolloutBed, name: string): Promise<void> {
  await patchNode(bed, name, { spec: { unschedulable: true } })
}

export async function labelNodes(
  bed: RolloutBed,
  names: readonly string[],
  labels: Record<string, string>,
): Promise<void> {
  for (const name of names) await patchNode(bed, name, { metadata: { labels } })
}

/** Somebody stops a machine; done when its node has said so. */
export async function stopMachine(bed: RolloutBed, name: string): Promise<void> {
  const { cloud } = bed.cluster
  cloud.act(name, { kind: 'stop' })
  await cloud.untilMachine(name, 'is stopped', ({ power }) => power === 'stopped')
  if (cloud.machine(name).type !== 'etcd') await untilReadiness(bed, name, false)
}

export async function untilReadiness(bed: RolloutBed, name: string, ready: boolean): Promise<void> {
  await waitUntil(async () => isReady(await bed.node(name)) === ready, {
    for: `${name} to be ${ready ? 'ready' : 'not ready'}`,
  })
}

export function isReady(node: Node): boolean {
  return node.status.conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
}

export function isCordoned(node: Node): boolean {
  return node.spec.unschedulable ?? false
}

function isTainted(node: Node, key: string): boolean {
  return (node.spec.taints ?? []).some((taint) => taint.key === key)
}

/** Is the node open for pods although its restart is not proven? */
export function openTooEarly(node: Node, bootBefore: string): boolean {
  const restarted = isReady(node) && node.status.nodeInfo.bootID !== bootBefore
  return !isCordoned(node) && !restarted
}

/** Tells of every state of every node from now on, in order. */
export class NodeWatch {
  readonly #closed = new AbortController()
  #running: Promise<void> = Promise.resolve()

  /** Resolves when the first node has been told of: from then on none is missed. */
  static async start(bed: RolloutBed, onNode: (node: Node) => void): Promise<NodeWatch> {
    const watch = new NodeWatch()
    await new Promise<void>((resolve) => {
      watch.#running = watch.#follow(bed, (node) => {
        onNode(node)
        resolve()
      })
    })
    return watch
  }

  async stop(): Promise<void> {
    this.#closed.abort()
    await this.#running
  }

  async #follow(bed: RolloutBed, onNode: (node: Node) => void): Promise<void> {
    try {
      for await (const { type, object } of bed.kube.api.watch('/api/v1/nodes', this.#closed.signal)) {
        if (type !== 'DELETED') onNode(object as unknown as Node)
      }
    } catch (error) {
      if (!this.#closed.signal.aborted) throw error
    }
  }
}

/** Keeps the largest set of nodes that was unavailable at one time. */
export class AvailabilityWatch {
  readonly #nodes = new Map<string, Node>()
  #most: readonly string[] = []
  #watch: NodeWatch | null = null

  static async start(bed: RolloutBed): Promise<AvailabilityWatch> {
    const watch = new AvailabilityWatch()
    watch.#watch = await NodeWatch.start(bed, (node) => watch.#see(node))
    return watch
  }

  async stop(): Promise<readonly string[]> {
    await this.#watch?.stop()
    return this.#most
  }

  #see(node: Node): void {
    this.#nodes.set(node.metadata.name, node)
    const down = [...this.#nodes.values()].filter((one) => !isReady(one) || isCordoned(one))
    if (down.length > this.#most.length) this.#most = down.map(({ metadata }) => metadata.name)
  }
}

/** Marks a node as a rollout that ended in the middle would have left it. */
export async function markAsLeft(
  bed: RolloutBed,
  name: string,
  marks: {
    readonly acting?: boolean
    readonly failure?: boolean
    readonly quarantine?: boolean
    readonly added?: Partial<Added>
  } = {},
): Promise<void> {
  const { metadata, status } = await bed.node(name)
  const rollout = 'elsewhere/default/cluster-rollout/prod/an-earlier-run'
  const at = '2026-01-01T00:00:00.000Z'
  const bootId = status.nodeInfo.bootID
  const added = { labels: {}, annotations: {}, ...marks.added }
  const { uid } = metadata
  const attempt = attemptAnnotation({ rollout, run: 'earlier', token: 'earlier', at, bootId, uid, added })
  const acting = actingAnnotation({ act: 'stop', at, rollout, token: 'earlier' })
  const failure = failureAnnotation({ step: 'start', reason: 'no room', machine: 'stopped', at, rollout })
  const quarantine = JSON.stringify({ reason: 'its pods did not go', at, rollout })
  await patchNode(bed, name, {
    metadata: {
      annotations: {
        [MARK_KEYS.bootId]: bootId,
        [MARK_KEYS.attempt]: attempt,
        ...(marks.acting ? { [MARK_KEYS.acting]: acting } : {}),
        ...(marks.failure ? { [MARK_KEYS.failure]: failure } : {}),
        ...(marks.quarantine ? { [MARK_KEYS.quarantine]: quarantine } : {}),
      },
    },
    spec: { unschedulable: true },
  })
}

/** A proxy between noderoll and the API server, for the length of one test; `kubernetes` goes into the spec. */
export async function behindProxy(bed: RolloutBed) {
  const proxy = await FaultProxy.start(bed.kube.access)
  onTestFinished(() => proxy.stop())
  const kubeconfig = await bed.kube.kubeconfigFile('noderoll', proxy.url, { ca: proxy.ca })
  return { proxy, kubernetes: { kubeconfig } }
}
