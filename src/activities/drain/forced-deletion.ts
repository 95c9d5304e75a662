import { type Forced, podToForce, secondsToNextForce } from '../../core/drain/force.js'
import type { PodStanding } from '../../core/drain/standing.js'
import type { NodeRecord } from '../../core/model.js'
import { type PodRecord, podName } from '../../core/pods.js'
import type { DrainPolicy } from '../../core/spec.js'
import type { DeletionAnswer } from '../../ports/cluster.js'
import type { Connections } from '../../ports/connections.js'
import { PortError } from '../../ports/errors.js'
import type { Attempt } from '../attempt.js'
import { updateRecord } from '../update-record.js'

/** How often the cluster's record is asked whether somebody else has forced a pod meanwhile, in seconds. */
const ASK_RECORD_SECONDS = 30

/** What an attempt leaves to the next one in its heartbeat. */
interface HandedOn {
  readonly forced?: readonly string[]
}

/**
 * `drain.onBlocked: force`: deletes one pod past its budget, with its own grace period, when the drain, the pod and the
 * cluster's last forced deletion are all old enough. The deletion is written into the cluster's record first, compare and
 * set, so that no other drain, rollout or worker does the same at the same time; one that then fails has used up its turn.
 */
export class ForcedDeletion {
  /** One sentence for each pod that was deleted, by attempts before this one, too: heartbeats hand them on. */
  readonly warnings: string[]
  readonly #connections: Connections
  readonly #policy: DrainPolicy
  readonly #attempt: Attempt
  #askAgainAtMs = 0
  #refused: string | null = null
  #forbidden = false

  constructor(connections: Connections, policy: DrainPolicy, attempt: Attempt) {
    this.#connections = connections
    this.#policy = policy
    this.#attempt = attempt
    this.warnings = [...((attempt.before as HandedOn | null | undefined)?.forced ?? [])]
  }

  /** Says why nothing may be forced, where a person could mend it. */
  get refused(): readonly string[] {
    return this.#refused === null ? [] : [this.#refused]
  }

  /**
   * Deletes at most one pod of these. `mayStill` is asked right before that, for taking the turn takes its time: it throws
   * when the node is no longer ours, and is false when the pod is no longer held.
   */
  async forceOne(
    left: readonly PodStanding[],
    node: NodeRecord,
    mayStill: (pod: PodRecord) => Promise<boolean>,
  ): Promise<void> {
    if (this.#policy.onBlocked !== 'force' || this.#forbidden) return
    if (performance.now() < this.#askAgainAtMs) return
    const drainSeconds = this.#attempt.sinceScheduledMs() / 1000
    const found = podToForce(left, drainSeconds, this.#policy.force)
    if (found === null || found.standing.kind !== 'held') return
    this.#askAgainAtMs = performance.now() + ASK_RECORD_SECONDS * 1000
    const { pod } = found
    this.#refused = null
    // Asked before the turn is taken, so that a missing permission does not use it up.
    if ((await this.#delete(pod, true)) !== 'accepted') return
    const forced: Forced = { at: new Date().toISOString(), pod: podName(pod), node: node.name }
    if (!(await this.#claimTurn(forced)) || !(await mayStill(pod))) return
    if ((await this.#delete(pod, false)) !== 'accepted') return
    const warning =
      `pod ${podName(pod)} on ${node.name} was deleted although ${found.standing.why}: ` +
      `the drain had lasted ${Math.round(drainSeconds)} s (drain.onBlocked is force)`
    this.warnings.push(warning)
    this.#attempt.note({ forced: this.warnings } satisfies HandedOn)
    await this.#connections.cluster.nodeEvent(node, 'Warning', 'DeletedPastBudget', warning)
  }

  /** What is said against this one pod may change; a missing permission does not while the drain lasts. */
  async #delete(pod: PodRecord, tryOnly: boolean): Promise<DeletionAnswer | 'refused'> {
    this.#attempt.mayStillAct()
    try {
      return await this.#connections.cluster.deletePod(pod, tryOnly, this.#attempt.signal)
    } catch (error) {
      if (!(error instanceof PortError) || error.kind !== 'refused') throw error
      this.#forbidden = error.notAllowed
      this.#refused = error.notAllowed
        ? `nothing is forced: ${error.message} drain.onBlocked force needs the ClusterRole noderoll-force (deploy/rbac.yaml)`
        : `pod ${podName(pod)} is not forced: ${error.message}`
      return 'refused'
    }
  }

  async #claimTurn(forced: Forced): Promise<boolean> {
    let seconds = 0
    await updateRecord(this.#connections.records, this.#attempt, (record) => {
      seconds = secondsToNextForce(record.lastForced, Date.now(), this.#policy.force)
      return seconds > 0 ? record : { ...record, lastForced: forced }
    })
    return seconds === 0
  }
}
