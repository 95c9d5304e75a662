import { PortError } from '../../ports/errors.js'
import type { RateLimit } from './rate-limit.js'

/** A place that nobody came for (its step was cancelled, its look found another reason) is worth nothing later. */
const KEPT_MS = 60_000

/**
 * Places in line for calls that change a machine, one for each machine: whoever waits looks again before it acts, so it
 * waits outside of the call, and comes back to the place it has.
 */
export class Places {
  readonly #limit: RateLimit
  /** When their calls may go out, by machine id (monotonic milliseconds). */
  readonly #held = new Map<string, number>()

  constructor(limit: RateLimit) {
    this.#limit = limit
  }

  /** Seconds until the machine's next call may go out; takes a place for it where it has none. */
  wait(id: string): number {
    const held = this.#held.get(id)
    const at = held !== undefined && performance.now() - held < KEPT_MS ? held : this.#limit.place()
    this.#held.set(id, at)
    return Math.max(0, at - performance.now()) / 1000
  }

  /** Uses the machine's place up. Throws `throttled`, and keeps the place, when its turn has not come. */
  use(id: string, what: string): void {
    const retryAfterSeconds = Math.ceil(this.wait(id))
    if (retryAfterSeconds > 0) {
      throw new PortError(
        'throttled',
        `${what}: its turn among this worker's calls comes in ${retryAfterSeconds} s`,
        {
          retryAfterSeconds,
        },
      )
    }
    this.#held.delete(id)
  }
}
