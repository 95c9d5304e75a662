import { activityInfo } from '@temporalio/activity'
import { ApplicationFailure, CancelledFailure } from '@temporalio/common'
import type { InCluster, NodeJob, Started, Stopped } from '../api/activities.js'
import type { NodeRecord } from '../core/model.js'
import type { Cluster } from '../ports/cluster.js'
import type { World } from '../ports/connections.js'
import { holderOf } from './ours.js'

export interface NodeEvent {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly text: string
}

/** An API server that hangs costs an event its request's deadline; more than these are not kept waiting for it. */
const MOST_WAITING = 200
/** Leaves room for the rollout's id in the 1,024 characters of a message. */
const LONGEST_TEXT = 800

interface Queue {
  last: Promise<void>
  waiting: number
}

const queues = new WeakMap<Cluster, Queue>()

/**
 * Puts an Event on the Node, with the rollout's id: what `kubectl describe node` shows. Nobody waits for it, since the
 * API server may be on the very machine that is stopped; events of a cluster go out one after another, in order.
 */
export function tellNode(
  world: World,
  cluster: Cluster,
  { rollout }: Pick<InCluster, 'rollout'>,
  node: Pick<NodeRecord, 'name' | 'uid'>,
  { type, reason, text }: NodeEvent,
): void {
  const queue = queues.get(cluster) ?? { last: Promise.resolve(), waiting: 0 }
  queues.set(cluster, queue)
  if (queue.waiting >= MOST_WAITING) return
  queue.waiting++
  const message = `${text.slice(0, LONGEST_TEXT)} (rollout ${holderOf(world, rollout)})`
  queue.last = queue.last
    .then(() => cluster.nodeEvent(node, type, reason, message))
    .finally(() => {
      queue.waiting--
    })
}

/** What a step says on its node; null says nothing. */
interface Words<I, O> {
  began(input: I): NodeEvent | null
  ended(output: O, input: I): NodeEvent | null
  readonly failedAs: string | null
}

const normal = (reason: string, text: string): NodeEvent => ({ type: 'Normal', reason, text })
const warning = (reason: string, text: string): NodeEvent => ({ type: 'Warning', reason, text })

export const DRAIN_WORDS: Words<NodeJob, { readonly evicted: number }> = {
  began: () => normal('NoderollDraining', 'Evicting its pods'),
  ended: ({ evicted }) => normal('NoderollDrained', `Drained, ${evicted} pods evicted`),
  failedAs: 'NoderollDrainFailed',
}

export const STOP_WORDS: Words<NodeJob, Stopped> = {
  began: () => normal('NoderollStopping', 'Looking once more, then stopping its machine'),
  ended: (stopped) => {
    if (stopped.kind === 'notDrained') return warning('NoderollNotDrained', stopped.why)
    return stopped.kind === 'stopped' ? normal('NoderollStopped', 'Its machine is off') : null
  },
  failedAs: 'NoderollStopFailed',
}

export const RESIZE_WORDS: Words<NodeJob & { readonly offering: string | null }, void> = {
  began: () => null,
  ended: (_, { node }) => normal('NoderollChanged', `Its machine has been changed: ${node.why}`),
  failedAs: 'NoderollChangeFailed',
}

export const START_WORDS: Words<NodeJob, Started> = {
  began: () => normal('NoderollStarting', 'Starting its machine'),
  ended: (started) =>
    started.kind === 'running'
      ? normal('NoderollStarted', 'Its machine runs; waiting for the node to be back')
      : warning('NoderollNoCapacity', started.why),
  failedAs: 'NoderollStartFailed',
}

export const RESTORE_WORDS: Words<NodeJob, Started> = {
  began: ({ node }) => warning('NoderollRestoring', `Bringing its machine back to ${node.was.offering}`),
  ended: START_WORDS.ended,
  failedAs: 'NoderollRestoreFailed',
}

export const VERIFY_WORDS: Words<NodeJob, unknown> = {
  began: () => null,
  // Both are said by the step itself, which knows when it has verified and whether it gave back.
  ended: () => null,
  failedAs: 'NoderollVerifyFailed',
}

/** A step that tells its node when it begins, ends and fails. Begun once, however often it is tried. */
export function telling<I extends NodeJob, O>(
  world: World,
  words: Words<NoInfer<I>, NoInfer<O>>,
  step: (input: I) => Promise<O>,
): (input: I) => Promise<O> {
  return async (input) => {
    if (activityInfo().attempt === 1) await tell(world, input, words.began(input))
    try {
      const output = await step(input)
      await tell(world, input, words.ended(output, input))
      return output
    } catch (error) {
      if (words.failedAs !== null && isFinal(error))
        await tell(world, input, warning(words.failedAs, error.message))
      throw error
    }
  }
}

async function tell(world: World, input: NodeJob, event: NodeEvent | null): Promise<void> {
  const { node: name } = input.node
  const { uid } = input.baseline
  if (event === null || name === null || uid === null) return
  try {
    const { cluster } = await world.connect(input.target)
    tellNode(world, cluster, input, { name, uid }, event)
  } catch {
    // The step says what is wrong with the connection; an event is told, not kept.
  }
}

/** Tried again, or called off: nothing has failed yet. */
function isFinal(error: unknown): error is ApplicationFailure {
  return (
    error instanceof ApplicationFailure && !(error instanceof CancelledFailure) && error.nonRetryable === true
  )
}
