import { podName } from '../core/drain.js'
import type { PodRecord } from '../core/pods.js'
import type { DrainPolicy } from '../core/spec.js'
import type { Cluster } from '../ports/cluster.js'
import { PortError } from '../ports/errors.js'
import type { Attempt } from './attempt.js'

/** Pause before a pod whose eviction was refused by its budget is asked for again, in milliseconds: first and longest. */
const FIRST_RETRY_MS = 250
const LONGEST_RETRY_MS = 5_000

interface Refused {
  readonly why: string
  readonly retryAt: number
  readonly pauseMs: number
}

/**
 * The evictions of one drain: bounded in parallel, each by UID, none asked for twice while its answer stands. A wrong
 * UID under a budget *spends* the budget without evicting anything, so only pods just read are asked for.
 */
export class EvictionRound {
  accepted = 0
  private readonly refused = new Map<string, Refused>()
  private readonly asked = new Set<string>()
  private readonly cluster: Cluster
  private readonly policy: DrainPolicy
  private readonly attempt: Attempt

  constructor(cluster: Cluster, policy: DrainPolicy, attempt: Attempt) {
    this.cluster = cluster
    this.policy = policy
    this.attempt = attempt
  }

  /** Evicts those whose turn it is; says why the rest stay. Throws `PortError` for a refusal that no waiting mends. */
  async evict(pods: readonly PodRecord[]): Promise<string[]> {
    const now = performance.now()
    const due = pods.filter(
      (pod) => !this.asked.has(pod.uid) && (this.refused.get(pod.uid)?.retryAt ?? 0) <= now,
    )
    let failed: unknown = null
    const queue = [...due]
    const lane = async () => {
      for (let pod = queue.shift(); pod !== undefined && failed === null; pod = queue.shift()) {
        try {
          await this.evictOne(pod)
        } catch (error) {
          failed ??= error
        }
      }
    }
    await Promise.all(Array.from({ length: Math.min(this.policy.parallelEvictions, due.length) }, lane))
    if (failed !== null) throw failed
    return pods.map((pod) => {
      const why = this.refused.get(pod.uid)?.why
      return `pod ${podName(pod)} ${why ?? 'was asked to go'}`
    })
  }

  private async evictOne(pod: PodRecord): Promise<void> {
    this.attempt.mayStillAct()
    const answer = await this.cluster.evict(pod, this.policy.gracePeriodSeconds, this.attempt.signal)
    switch (answer.kind) {
      case 'accepted':
        this.accepted++
        this.asked.add(pod.uid)
        this.refused.delete(pod.uid)
        return
      case 'gone':
        this.asked.add(pod.uid)
        this.refused.delete(pod.uid)
        return
      case 'blocked':
      case 'misconfigured':
        this.later(pod, `is held: ${answer.why}`, null)
        return
      case 'later':
        this.later(pod, `waits: ${answer.why}`, answer.afterSeconds * 1000)
        return
      default:
        throw new PortError('refused', `unknown eviction answer ${JSON.stringify(answer satisfies never)}`)
    }
  }

  private later(pod: PodRecord, why: string, askedPauseMs: number | null): void {
    const before = this.refused.get(pod.uid)?.pauseMs ?? FIRST_RETRY_MS / 2
    const pauseMs = askedPauseMs ?? Math.min(before * 2, LONGEST_RETRY_MS)
    this.refused.set(pod.uid, { why, pauseMs, retryAt: performance.now() + pauseMs })
  }
}
