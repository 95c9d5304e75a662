import type { PodRecord } from '../pods.js'
import type { EvictionOrder } from '../spec.js'
import { selectsPod } from './selector.js'

const CRITICAL_CLASSES = ['system-cluster-critical', 'system-node-critical']
/** The lowest priority of the system's own classes; nothing of a user may be higher. */
const CRITICAL_PRIORITY = 2_000_000_000

/**
 * When a pod's turn comes: lower goes first, and each number is gone before the next is asked to go. Numbers mean nothing
 * beyond their order.
 */
function turnOf(pod: PodRecord, order: EvictionOrder): number {
  switch (order.by) {
    case 'together':
      return 0
    case 'criticalLast':
      return isCritical(pod) ? 1 : 0
    case 'priority':
      return pod.priority
    case 'selectors': {
      const { groups } = order
      const found = groups.findIndex((group) => group !== 'rest' && selectsPod(group, pod))
      if (found >= 0) return found
      const rest = groups.indexOf('rest')
      return rest >= 0 ? rest : groups.length
    }
    default:
      return order satisfies never
  }
}

/** Of the pods that have still to go (terminating ones included), those that are not before their turn. */
export function whoseTurn<T extends { readonly pod: PodRecord }>(
  left: readonly T[],
  order: EvictionOrder,
): T[] {
  const turns = left.map(({ pod }) => turnOf(pod, order))
  const first = Math.min(...turns)
  return left.filter((_, index) => turns[index] === first)
}

function isCritical({ priority, priorityClass }: PodRecord): boolean {
  return priority >= CRITICAL_PRIORITY || CRITICAL_CLASSES.includes(priorityClass ?? '')
}
