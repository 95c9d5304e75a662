import { NODES, NOT_READY, type Node, type Taint } from '../kinds/node.js'
import { isTrue, timestamp } from '../objects/api-object.js'
import type { Change, Store } from '../objects/store.js'
import type { Controller } from './controller.js'

const UNREACHABLE = 'node.kubernetes.io/unreachable'
const UNSCHEDULABLE = 'node.kubernetes.io/unschedulable'
const TTL = 'node.alpha.kubernetes.io/ttl'
/** The old names of labels, and the ones they follow. */
const SYNCHRONISED = [
  ['kubernetes.io/os', 'beta.kubernetes.io/os'],
  ['kubernetes.io/arch', 'beta.kubernetes.io/arch'],
] as const

/** Keeps on each node what the system itself writes there: the taints that say why nothing is scheduled, and labels. */
export class NodeController implements Controller {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  keysOf({ resource, object, deleted }: Change): readonly string[] {
    return resource === NODES && !deleted ? [object.metadata.name] : []
  }

  reconcile(name: string): undefined {
    const node = this.#store.find(NODES, '', name)
    if (node === undefined) return
    const wanted = withTaints(withLabels(node))
    if (wanted !== node) this.#store.put(NODES, wanted)
  }
}

function withLabels(node: Node): Node {
  const { labels = {}, annotations = {} } = node.metadata
  const added = SYNCHRONISED.flatMap(([from, to]) => {
    const value = labels[from]
    return value === undefined || labels[to] === value ? [] : [[to, value] as const]
  })
  if (added.length === 0 && TTL in annotations) return node
  const metadata = {
    ...node.metadata,
    ...(added.length === 0 ? {} : { labels: { ...labels, ...Object.fromEntries(added) } }),
    annotations: { ...annotations, [TTL]: annotations[TTL] ?? '0' },
  }
  return { ...node, metadata }
}

function withTaints(node: Node): Node {
  const { taints = [], ...spec } = node.spec
  const conditions = node.status.conditions ?? []
  const ready = conditions.find(({ type }) => type === 'Ready')?.status
  const wanted = [
    ...(spec.unschedulable === true ? [UNSCHEDULABLE] : []),
    ...(ready === 'False' ? [NOT_READY] : []),
    ...(ready === 'Unknown' ? [UNREACHABLE] : []),
    ...['Memory', 'Disk', 'PID']
      .filter((resource) => isTrue(conditions, `${resource}Pressure`))
      .map((resource) => `node.kubernetes.io/${resource.toLowerCase()}-pressure`),
  ]
  const kept = taints.filter((taint) => !isOurs(taint) || wanted.includes(taint.key))
  const missing = wanted.filter((key) => !taints.some((taint) => isOurs(taint) && taint.key === key))
  if (kept.length === taints.length && missing.length === 0) return node
  const timeAdded = timestamp()
  const all = [...kept, ...missing.map((key): Taint => ({ key, effect: 'NoSchedule', timeAdded }))]
  return { ...node, spec: { ...spec, ...(all.length === 0 ? {} : { taints: all }) } }
}

const OURS = [
  NOT_READY,
  UNREACHABLE,
  UNSCHEDULABLE,
  ...['memory', 'disk', 'pid'].map((resource) => `node.kubernetes.io/${resource}-pressure`),
]

function isOurs({ key, effect }: Taint): boolean {
  return effect === 'NoSchedule' && OURS.includes(key)
}
