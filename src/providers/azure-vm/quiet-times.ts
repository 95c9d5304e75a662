import { PortError } from '../../ports/errors.js'

/** Azure asks for up to twenty minutes; a machine that is off is worth a question every two. */
const LONGEST_SECONDS = 120

/** Remembers for how long Azure wants to be left alone, call by call: its buckets are per kind of call, too. */
export class QuietTimes {
  readonly #until = new Map<string, number>()

  /** Throws `throttled`, with nothing sent, while a call of this kind may not go out. */
  mustBeOver(kind: string, what: string): void {
    const left = (this.#until.get(kind) ?? 0) - performance.now()
    if (left <= 0) return
    const retryAfterSeconds = Math.ceil(left / 1000)
    throw new PortError(
      'throttled',
      `${what}: Azure asked to be left alone for another ${retryAfterSeconds} s`,
      {
        retryAfterSeconds,
      },
    )
  }

  /** An answer to a call that was already on its way never makes the time shorter. */
  begin(kind: string, seconds: number): void {
    const until = performance.now() + Math.min(seconds, LONGEST_SECONDS) * 1000
    this.#until.set(kind, Math.max(until, this.#until.get(kind) ?? 0))
  }
}
