import { NODES, type Node } from '../kinds/node.js'
import { PODS, type Pod, withPodCondition } from '../kinds/pod.js'
import { isTerminating } from '../objects/api-object.js'
import { bindPod } from '../objects/binding.js'
import type { ObjectIndex } from '../objects/object-index.js'
import type { Change, Store } from '../objects/store.js'
import type { Controller } from './controller.js'
import { isWanted, preferenceFor, untolerated } from './node-fit.js'
import { NodeRoom } from './node-room.js'

/** The one thing to do: find places for all pods that have none. */
const PENDING = 'pending'
const NAME = 'default-scheduler'

type Verdict = { readonly kind: 'fits'; readonly node: Node } | { readonly kind: 'not'; readonly why: string }

/** Puts pods on nodes that may have them, have room and have few others. */
export class Scheduler implements Controller {
  readonly #store: Store
  readonly #podsByNode: ObjectIndex<Pod>

  constructor(store: Store, podsByNode: ObjectIndex<Pod>) {
    this.#store = store
    this.#podsByNode = podsByNode
  }

  keysOf({ resource, object, before, deleted }: Change): readonly string[] {
    if (resource === NODES) return [PENDING]
    if (resource !== PODS) return []
    const isNew = before === null && (object as Pod).spec.nodeName === undefined
    // Room that becomes free is for those who wait.
    return isNew || deleted ? [PENDING] : []
  }

  reconcile(): undefined {
    const waiting = this.#podsByNode
      .get('')
      .filter((pod) => !isTerminating(pod) && pod.spec.schedulerName === NAME)
      .sort((a, b) => (b.spec.priority ?? 0) - (a.spec.priority ?? 0) || ageOrder(a, b))
    if (waiting.length === 0) return
    const room = new NodeRoom(this.#store.list(NODES), (name) => this.#podsByNode.get(name))
    for (const pod of waiting) this.#place(pod, room)
  }

  #place(pod: Pod, room: NodeRoom): void {
    const verdicts = room.nodes.map((node) => judge(pod, node, room))
    const fitting = verdicts.flatMap((verdict) => (verdict.kind === 'fits' ? [verdict.node] : []))
    const node = best(pod, fitting, room)
    if (node === undefined) {
      this.#sayWhyNot(pod, verdicts)
      return
    }
    const { namespace = '', name } = pod.metadata
    bindPod(this.#store, namespace, name, { target: { kind: NODES.kind, name: node.metadata.name } })
    room.take(node.metadata.name, pod)
  }

  #sayWhyNot(pod: Pod, verdicts: readonly Verdict[]): void {
    const counts = new Map<string, number>()
    for (const verdict of verdicts) {
      if (verdict.kind === 'not') counts.set(verdict.why, (counts.get(verdict.why) ?? 0) + 1)
    }
    const said = [...counts].map(([why, count]) => `${count} ${why}`).sort()
    const message = `0/${verdicts.length} nodes are available: ${said.join(', ') || 'there are none'}.`
    const before = pod.status.conditions?.find(({ type }) => type === 'PodScheduled')
    if (before?.message === message) return
    const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message } as const
    this.#store.put(PODS, withPodCondition(pod, condition))
  }
}

function judge(pod: Pod, node: Node, room: NodeRoom): Verdict {
  const not = (why: string): Verdict => ({ kind: 'not', why })
  if (!isWanted(pod.spec, node)) return not("node(s) didn't match Pod's node affinity/selector")
  if (node.spec.unschedulable === true && untolerated(pod.spec, cordoned(node), ['NoSchedule']).length > 0) {
    return not('node(s) were unschedulable')
  }
  const [taint] = untolerated(pod.spec, node, ['NoSchedule', 'NoExecute'])
  if (taint !== undefined) return not(`node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`)
  const lacking = room.lackingFor(pod, node)
  return lacking === null ? { kind: 'fits', node } : not(lacking)
}

/** The cordon counts from its first moment, before its taint is there. */
function cordoned(node: Node): Node {
  const taints = [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] as const
  return { ...node, spec: { ...node.spec, taints } }
}

/** Liked best, then fewest of the same owner, then fewest at all. */
function best(pod: Pod, nodes: readonly Node[], room: NodeRoom): Node | undefined {
  let winner: { readonly node: Node; readonly rank: readonly number[] } | undefined
  for (const node of nodes) {
    const { name } = node.metadata
    const rank = [
      -preferenceFor(pod.spec, node),
      untolerated(pod.spec, node, ['PreferNoSchedule']).length,
      room.siblingsOn(name, pod),
      room.podsOn(name),
    ]
    if (winner === undefined || isLess(rank, winner.rank)) winner = { node, rank }
  }
  return winner?.node
}

function isLess(rank: readonly number[], other: readonly number[]): boolean {
  const index = rank.findIndex((value, at) => value !== other[at])
  return index >= 0 && (rank[index] ?? 0) < (other[index] ?? 0)
}

function ageOrder(a: Pod, b: Pod): number {
  return Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion)
}
