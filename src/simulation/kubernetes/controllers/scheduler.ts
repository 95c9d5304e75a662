import { isTerminating } from '../api-object.js'
import { bindPod } from '../binding.js'
import { NODES, type Node } from '../kinds/node.js'
import { PODS, type Pod, withPodCondition } from '../kinds/pod.js'
import type { ObjectIndex } from '../object-index.js'
import type { Change, Store } from '../store.js'
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
  const ranks = nodes.map((node) => ({
    node,
    rank: [
      -preferenceFor(pod.spec, node),
      untolerated(pod.spec, node, ['PreferNoSchedule']).length,
      room.siblingsOn(node.metadata.name, pod),
      room.podsOn(node.metadata.name),
    ],
  }))
  ranks.sort((a, b) => {
    const difference = a.rank.findIndex((value, index) => value !== b.rank[index])
    if (difference < 0) return a.node.metadata.name < b.node.metadata.name ? -1 : 1
    return (a.rank[difference] ?? 0) - (b.rank[difference] ?? 0)
  })
  return ranks[0]?.node
}

function ageOrder(a: Pod, b: Pod): number {
  return Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion)
}
