import { type Forced, podToForce, secondsToNextForce } from '../../core/drain/force.js'
import type { PodStanding } from '../../core/drain/standing.js'
import type { NodeRecord } from '../../core/model.js'
import { podName } from '../../core/pods.js'
import type { DrainPolicy } from '../../core/spec.js'
import type { Connections } from '../../ports/connections.js'
import { portErrorKind } from '../../ports/errors.js'
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

  /** Deletes at most one pod of these. */
  async forceOne(left: readonly PodStanding[], node: NodeRecord): Promise<void> {
    if (this.#policy.onBlocked !== 'force' || this.#refused !== null) return
    if (performance.now() < this.#askAgainAtMs) return
    const drainSeconds = this.#attempt.sinceScheduledMs() / 1000
    const found = podToForce(left, drainSeconds, this.#policy.force)
    if (found === null || found.standing.kind !== 'held') return
    this.#askAgainAtMs = performance.now() + ASK_RECORD_SECONDS * 1000
    const { pod } = found
    if (!(await this.#mayDelete(found))) return
    const forced: Forced = { at: new Date().toISOString(), pod: podName(pod), node: node.name }
    if (!(await this.#claimTurn(forced))) return
    this.#attempt.mayStillAct()
    const answer = await this.#connections.cluster.deletePod(pod, false, this.#attempt.signal)
    if (answer === 'gone') return
    const warning =
      `pod ${podName(pod)} on ${node.name} was deleted although ${found.standing.why}: ` +
      `the drain had lasted ${Math.round(drainSeconds)} s (drain.onBlocked is force)`
    this.warnings.push(warning)
    this.#attempt.note({ forced: this.warnings } satisfies HandedOn)
    await this.#connections.cluster.nodeEvent(node, 'Warning', 'DeletedPastBudget', warning)
  }

  /** Asked before the turn is taken, so that a missing permission does not use it up. */
  async #mayDelete({ pod }: PodStanding): Promise<boolean> {
    try {
      return (await this.#connections.cluster.deletePod(pod, true, this.#attempt.signal)) === 'accepted'
    } catch (error) {
      if (portErrorKind(error) !== 'refused') throw error
      this.#refused = `nothing is forced: ${(error as Error).message} drain.onBlocked force needs the ClusterRole noderoll-force (deploy/rbac.yaml)`
      return false
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
