import { setTimeout as sleep } from 'node:timers/promises'

/**
 * A token bucket as Azure Resource Manager keeps one per subscription and principal, kept a little smaller: who waits
 * here is not throttled there, where every refusal costs minutes.
 */
export class RateLimit {
  readonly #burst: number
  readonly #perSecond: number
  #tokens: number
  #at = performance.now()

  constructor(burst: number, perSecond: number) {
    this.#burst = burst
    this.#perSecond = perSecond
    this.#tokens = burst
  }

  /** Takes the next place in line: the time, in monotonic milliseconds, from which on the call may go out. */
  place(): number {
    const now = performance.now()
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#at) / 1000) * this.#perSecond)
    this.#at = now
    // Taken at once, also when it is not there yet: so those who wait stand in line.
    this.#tokens -= 1
    return this.#tokens >= 0 ? now : now + (-this.#tokens / this.#perSecond) * 1000
  }

  /** Resolves when the next call may go out; rejects with the reason of `signal`. */
  async turn(signal: AbortSignal): Promise<void> {
    const waitMs = this.place() - performance.now()
    if (waitMs <= 0) return
    await sleep(waitMs, undefined, { signal }).catch((error: unknown) => {
      signal.throwIfAborted()
      throw error
    })
  }
}
