import { daemonSetOf } from '../../core/drain/filters.js'
import { type PodsLeft, sortPods } from '../../core/drain/pods-left.js'
import { silentSeconds } from '../../core/drain/silence.js'
import type { NodeRecord } from '../../core/model.js'
import type { PodRecord } from '../../core/pods.js'
import type { DrainPolicy } from '../../core/spec.js'
import type { Cluster } from '../../ports/cluster.js'
import type { Attempt } from '../attempt.js'

/** The pods that still have to go, from one fresh read of the node's pods and their DaemonSets. */
export async function toBeGone(
  cluster: Cluster,
  node: Pick<NodeRecord, 'name' | 'ready' | 'unknownSince'>,
  policy: DrainPolicy,
  attempt: Pick<Attempt, 'signal'>,
): Promise<PodsLeft> {
  const pods = await cluster.podsOn(node.name, attempt.signal)
  const daemonSets = await new DaemonSets(cluster).of(pods, attempt.signal)
  return sortPods(pods, policy, { daemonSets, silentSeconds: silentSeconds(node, Date.now()) })
}

/** Which DaemonSets exist; each is asked for once. */
export class DaemonSets {
  readonly #cluster: Cluster
  readonly #exists = new Map<string, boolean>()

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  /** `namespace/name` of those that these pods name as their owner and that exist. */
  async of(pods: readonly PodRecord[], signal: AbortSignal): Promise<Set<string>> {
    const named = new Set(pods.map(daemonSetOf).filter((name) => name !== null))
    await Promise.all(
      [...named].map(async (full) => {
        if (this.#exists.has(full)) return
        const [namespace = '', name = ''] = full.split('/')
        this.#exists.set(full, await this.#cluster.daemonSetExists(namespace, name, signal))
      }),
    )
    return new Set([...named].filter((full) => this.#exists.get(full)))
  }
}
