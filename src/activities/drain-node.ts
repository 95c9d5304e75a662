import type { NodeJob } from '../api/activities.js'
import { failure } from '../api/failures.js'
import { batchNodeName } from '../core/batch.js'
import { daemonSetOf, podName, podVerdict } from '../core/drain.js'
import type { PodRecord } from '../core/pods.js'
import type { DrainPolicy } from '../core/spec.js'
import type { Connections, World } from '../ports/connections.js'
import { type Attempt, attempting } from './attempt.js'
import { changeNode } from './change-node.js'
import { EvictionRound } from './eviction-round.js'
import { AlreadyDone, myNode } from './my-node.js'
import { orFailure } from './port-failure.js'
import { waitFor } from './wait.js'

/** Pause between two looks when the watch is silent, in seconds; also how often a blocked eviction is asked for again. */
const SLOWEST_SECONDS = 2

/** How often, at the least, the drain makes sure the node is still its own. */
const REASSURE_SECONDS = 5

/**
 * Evicts what the policy allows and waits until each evicted pod's UID is gone (CKS-16, B01, B02). Cordons again when
 * somebody uncordons meanwhile (B03). Throws `DrainRefused` before the first eviction when a pod may not be evicted, and
 * `DrainBlocked` at the deadline, naming pods, budgets and their arithmetic.
 */
export function drainNode(world: World) {
  return async (
    input: NodeJob & { policy: DrainPolicy; limitSeconds: number },
  ): Promise<{ evicted: number }> =>
    attempting(batchNodeName(input.node), (attempt) =>
      orFailure(`drain of ${batchNodeName(input.node)}`, 'DrainBlocked', async () => {
        const name = input.node.node
        if (name === null) return { evicted: 0 }
        const connections = await world.connect(input.target)
        try {
          await myNode(world, connections, input, attempt)
        } catch (error) {
          if (error instanceof AlreadyDone) return { evicted: 0 }
          throw error
        }
        let reassuredAt = performance.now()
        const round = new EvictionRound(connections.cluster, input.policy, attempt)
        await waitFor<true>(attempt, {
          slowestSeconds: SLOWEST_SECONDS,
          watch: (wake) => [
            connections.cluster.watchPodsOn(name, wake),
            connections.cluster.watchNodes(wake, name),
          ],
          limit: {
            seconds: input.limitSeconds,
            fail: (why) =>
              failure(
                'DrainBlocked',
                `drain of ${name} did not end in ${Math.round(input.limitSeconds)} s: ${why.join('; ')}`,
              ),
          },
          look: async () => {
            if (performance.now() - reassuredAt > REASSURE_SECONDS * 1000) {
              await myNode(world, connections, input, attempt)
              reassuredAt = performance.now()
            }
            await cordonAgain(connections, attempt, input)
            const left = await toBeGone(connections, name, input.policy, attempt)
            if (left.refused.length > 0) {
              throw failure(
                'DrainRefused',
                `drain of ${name} is refused: ${left.refused.join('; ')}. ` +
                  'Move or delete those pods, or allow it in the spec (drain.barePods, drain.emptyDir)',
              )
            }
            if (left.evict.length + left.wait.length === 0) return { done: true }
            const blocked = await round.evict(left.evict.map(({ pod }) => pod))
            return { why: [...blocked, ...left.wait.map(({ pod, why }) => `pod ${podName(pod)} ${why}`)] }
          },
        })
        return { evicted: round.accepted }
      }),
    )
}

export interface PodsLeft {
  readonly evict: readonly { readonly pod: PodRecord; readonly why: string }[]
  readonly wait: readonly { readonly pod: PodRecord; readonly why: string }[]
  readonly refused: readonly string[]
}

/** The pods that still have to go, from one fresh read of the node's pods. */
export async function toBeGone(
  connections: Connections,
  nodeName: string,
  policy: DrainPolicy,
  attempt: Attempt,
): Promise<PodsLeft> {
  const pods = await connections.cluster.podsOn(nodeName, attempt.signal)
  const daemonSets = await existingDaemonSets(connections, pods, attempt)
  const evict: PodsLeft['evict'][number][] = []
  const wait: PodsLeft['wait'][number][] = []
  const refused: string[] = []
  for (const pod of pods) {
    const verdict = podVerdict(pod, policy, { daemonSets })
    if (verdict.kind === 'evict') evict.push({ pod, why: verdict.why })
    else if (verdict.kind === 'wait') wait.push({ pod, why: verdict.why })
    else if (verdict.kind === 'refuse') refused.push(`pod ${podName(pod)} ${verdict.why}`)
  }
  return { evict, wait, refused }
}

async function existingDaemonSets(
  connections: Connections,
  pods: readonly PodRecord[],
  attempt: Attempt,
): Promise<Set<string>> {
  const named = new Set(pods.map(daemonSetOf).filter((name) => name !== null))
  const found = await Promise.all(
    [...named].map(async (full) => {
      const [namespace = '', name = ''] = full.split('/')
      return (await connections.cluster.daemonSetExists(namespace, name, attempt.signal)) ? [full] : []
    }),
  )
  return new Set(found.flat())
}

/** B03: a cordon lost in mid-drain lets new pods land behind our back. */
async function cordonAgain(connections: Connections, attempt: Attempt, job: NodeJob): Promise<void> {
  const name = job.node.node
  if (name === null) return
  let lost = false
  const node = await changeNode(connections.cluster, attempt, name, (now) => {
    if (now.unschedulable || now.marks.attempt?.token !== job.token) return null
    lost = true
    return { unschedulable: true }
  })
  if (node === null) {
    throw failure('NodeChanged', `node ${name} vanished from the cluster; its machine was not touched`)
  }
  if (lost) {
    await connections.cluster.nodeEvent(
      node,
      'Warning',
      'CordonedAgain',
      'Somebody uncordoned this node while noderoll drained it',
    )
  }
}
