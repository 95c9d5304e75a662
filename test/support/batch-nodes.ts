import { expect } from 'vitest'
import type { AuditRecord } from './audit.js'
import { CLUSTER, type Node, type RolloutBed } from './rollout-bed.js'
import { waitUntil } from './wait.js'

/** What K1 compares: labels, annotations and spec of every node. */
export type Found = Readonly<Record<string, Pick<Node['metadata'], 'labels' | 'annotations'> & { spec: object }>>

/** The nodes as they are once the controllers have written on them what they write on new ones. */
export async function found(bed: RolloutBed): Promise<Found> {
  await waitUntil(
    async () =>
      (await bed.nodes()).every(
        (node) =>
          'node.alpha.kubernetes.io/ttl' in (node.metadata.annotations ?? {}) &&
          !(node.spec.taints ?? []).some(({ key }) => key === 'node.kubernetes.io/not-ready'),
      ),
    { for: 'nodes that the controllers are done with' },
  )
  return look(bed)
}

/** K1: labels, annotations and spec are what they were; a cordon's taint is the node controller's to remove. */
export async function expectAsFound(bed: RolloutBed, before: Found): Promise<void> {
  await waitUntil(async () => JSON.stringify(await look(bed)) === JSON.stringify(before), {
    for: 'nodes as found',
    timeoutMs: 3_000,
  }).catch(() => undefined)
  expect(await look(bed)).toEqual(before)
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
  return writes.filter(
    (write) => write.resource === 'nodes' && (name === undefined || write.name === name),
  )
}

/** The reasons of the events on a node. */
export async function eventsOn(bed: RolloutBed, name: string): Promise<string[]> {
  const events = await bed.kube.api.list(
    `/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D${name}`,
  )
  return events.filter((event) => event.source?.component === 'noderoll').map((event) => event.reason)
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

/** Follows the nodes of a pool through a watch and keeps the largest set that was unavailable at one time. */
export class AvailabilityWatch {
  readonly most: { names: readonly string[] } = { names: [] }
  readonly #closed = new AbortController()
  readonly #nodes = new Map<string, Node>()
  #running: Promise<void> = Promise.resolve()

  static async start(bed: RolloutBed, names: readonly string[]): Promise<AvailabilityWatch> {
    const watch = new AvailabilityWatch()
    for (const node of await bed.nodes()) {
      if (names.includes(node.metadata.name)) watch.#nodes.set(node.metadata.name, node)
    }
    watch.#running = watch.#follow(bed, names)
    return watch
  }

  async stop(): Promise<readonly string[]> {
    this.#closed.abort()
    await this.#running
    return this.most.names
  }

  async #follow(bed: RolloutBed, names: readonly string[]): Promise<void> {
    try {
      for await (const { object } of bed.kube.api.watch('/api/v1/nodes', this.#closed.signal)) {
        if (!names.includes(object.metadata.name)) continue
        this.#nodes.set(object.metadata.name, object as unknown as Node)
        const down = [...this.#nodes.values()].filter((node) => !isReady(node) || isCordoned(node))
        if (down.length > this.most.names.length) {
          this.most.names = down.map((node) => node.metadata.name).sort()
        }
      }
    } catch (error) {
      if (!this.#closed.signal.aborted) throw error
    }
  }
}

export const WORKFLOW_ID = `cluster-rollout/${CLUSTER}`
