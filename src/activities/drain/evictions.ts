import type { Standing } from '../../core/drain/standing.js'
import type { PodRecord } from '../../core/pods.js'
import type { EvictionAnswer } from '../../ports/cluster.js'
import { PortError } from '../../ports/errors.js'
import { Pace } from './pace.js'

/** Pause before a pod whose eviction was refused is asked for again, in milliseconds: first and longest. */
const FIRST_RETRY_MS = 250
const LONGEST_RETRY_MS = 5_000
/** An accepted eviction that nothing came of by then is asked for again. */
const NOTHING_CAME_MS = 60_000

interface Answered {
  readonly standing: Standing
  /** When it may be asked for again; null: never. */
  readonly againAtMs: number | null
  readonly pauseMs: number
}

export interface EvictionsOptions {
  /** Evicts one pod. Throws when this attempt may send nothing more. */
  readonly evict: (pod: PodRecord) => Promise<EvictionAnswer>
  /** What a person has to know where the server says only "more than one budget". */
  readonly nameBudgets: (pod: PodRecord) => Promise<string>
  readonly parallel: number
  /** Called after every answer. */
  readonly onAnswer: () => void
}

/**
 * The evictions of one drain, in the background: bounded in parallel, each by UID, none asked for twice while its answer
 * stands. A wrong UID under a budget *spends* the budget without evicting anything, so only pods are asked for that the
 * watch has just shown.
 */
export class Evictions {
  accepted = 0
  readonly #options: EvictionsOptions
  readonly #pace: Pace
  readonly #answers = new Map<string, Answered>()
  readonly #underWay = new Map<string, Promise<void>>()
  #wanted: readonly PodRecord[] = []
  #allowedUntilMs = 0
  #timer: NodeJS.Timeout | undefined
  #ended: unknown = null

  constructor(options: EvictionsOptions) {
    this.#options = options
    this.#pace = new Pace(options.parallel)
  }

  /**
   * From now on these pods are evicted and no others, in this order, until `untilMs` (on the monotonic clock) unless asked
   * again. Returns at once. Throws what an eviction threw that was no answer about its pod.
   */
  want(pods: readonly PodRecord[], untilMs: number): void {
    if (this.#ended !== null) throw this.#ended
    this.#wanted = pods
    this.#allowedUntilMs = untilMs
    this.#pump()
  }

  standingOf({ uid }: PodRecord): Standing {
    return this.#answers.get(uid)?.standing ?? { kind: 'due' }
  }

  /** Begins nothing more, and resolves when nothing is under way. */
  async end(): Promise<void> {
    this.#wanted = []
    clearTimeout(this.#timer)
    await Promise.all(this.#underWay.values())
  }

  #pump(): void {
    clearTimeout(this.#timer)
    const now = performance.now()
    if (now > this.#allowedUntilMs || this.#ended !== null) return
    const idle = this.#wanted.filter(({ uid }) => !this.#underWay.has(uid))
    const due = idle.filter(({ uid }) => this.#dueAtMs(uid) <= now)
    const room = Math.max(0, this.#pace.widthAt(now) - this.#underWay.size)
    for (const pod of due.slice(0, room)) this.#begin(pod)
    const next = Math.min(...idle.map(({ uid }) => this.#dueAtMs(uid)).filter((at) => at > now))
    const again = due.length > room ? Math.max(this.#pace.pausedUntilMs, now) : next
    // With requests under way the next answer pumps; a pause and a later turn need a clock.
    if (Number.isFinite(again) && again > now) this.#timer = setTimeout(() => this.#pump(), again - now + 1)
  }

  #dueAtMs(uid: string): number {
    const answered = this.#answers.get(uid)
    return answered === undefined ? 0 : (answered.againAtMs ?? Number.POSITIVE_INFINITY)
  }

  #begin(pod: PodRecord): void {
    const sentAtMs = performance.now()
    const run = async () => {
      try {
        await this.#heard(pod, await this.#options.evict(pod), sentAtMs)
      } catch (error) {
        this.#failed(pod, error, sentAtMs)
      } finally {
        this.#underWay.delete(pod.uid)
      }
      this.#pump()
      this.#options.onAnswer()
    }
    this.#underWay.set(pod.uid, run())
  }

  async #heard(pod: PodRecord, answer: EvictionAnswer, sentAtMs: number): Promise<void> {
    switch (answer.kind) {
      case 'accepted':
        this.accepted++
        this.#pace.wentWell()
        return this.#note(pod, { kind: 'asked' }, NOTHING_CAME_MS)
      case 'gone':
        return this.#note(pod, { kind: 'asked' }, NOTHING_CAME_MS)
      case 'blocked':
        this.#pace.wentWell()
        return this.#again(pod, { kind: 'held', budget: answer.budget, why: answer.why })
      case 'manyBudgets':
        return this.#again(pod, { kind: 'overruled', why: await this.#options.nameBudgets(pod) })
      case 'later':
        return this.#note(pod, { kind: 'later', why: answer.why }, answer.afterSeconds * 1000)
      case 'slowDown':
        this.#pace.slowDown(answer.afterSeconds, sentAtMs, performance.now())
        return this.#note(pod, { kind: 'later', why: answer.why }, 0)
      default:
        throw new PortError('refused', `unknown eviction answer ${JSON.stringify(answer satisfies never)}`)
    }
  }

  /** One pod's error ends no other pod's eviction. */
  #failed(pod: PodRecord, error: unknown, sentAtMs: number): void {
    // What is not about this pod ends the drain: no other one would fare better.
    if (!(error instanceof PortError) || (error.kind === 'refused' && error.notAllowed)) {
      this.#ended ??= error
      return
    }
    const { kind, message, retryAfterSeconds } = error
    if (kind === 'throttled') this.#pace.slowDown(retryAfterSeconds ?? 1, sentAtMs, performance.now())
    if (kind === 'unreachable' || kind === 'throttled' || kind === 'conflict')
      this.#again(pod, { kind: 'later', why: message })
    else
      this.#answers.set(pod.uid, { standing: { kind: 'failed', why: message }, againAtMs: null, pauseMs: 0 })
  }

  /** After a pause that grows with every refusal. */
  #again(pod: PodRecord, standing: Standing): void {
    const before = this.#answers.get(pod.uid)?.pauseMs ?? 0
    const pauseMs = Math.max(FIRST_RETRY_MS, Math.min(before * 2, LONGEST_RETRY_MS))
    this.#answers.set(pod.uid, { standing, againAtMs: performance.now() + pauseMs, pauseMs })
  }

  #note({ uid }: PodRecord, standing: Standing, pauseMs: number): void {
    this.#answers.set(uid, { standing, againAtMs: performance.now() + pauseMs, pauseMs: 0 })
  }
}
