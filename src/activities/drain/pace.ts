/** Never asked to wait longer than this by the server, in seconds. */
const LONGEST_PAUSE_SECONDS = 30

/**
 * How many requests may be under way at once. The server's flow control halves it and asks for a pause; every request that
 * went well gives a little back, a whole step for each round of them.
 */
export class Pace {
  readonly #most: number
  #width: number
  #pausedUntilMs = 0
  #slowedAtMs = Number.NEGATIVE_INFINITY

  constructor(most: number) {
    this.#most = most
    this.#width = most
  }

  /** Requests that may be under way now. */
  widthAt(nowMs: number): number {
    return nowMs < this.#pausedUntilMs ? 0 : Math.floor(this.#width)
  }

  /** When the pause ends that the server has asked for. */
  get pausedUntilMs(): number {
    return this.#pausedUntilMs
  }

  wentWell(): void {
    this.#width = Math.min(this.#most, this.#width + 1 / this.#width)
  }

  /** `sentAtMs`: requests that were sent together and are refused together slow down once. */
  slowDown(askedSeconds: number, sentAtMs: number, nowMs: number): void {
    const pauseMs = Math.min(askedSeconds, LONGEST_PAUSE_SECONDS) * 1000
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + pauseMs)
    if (sentAtMs <= this.#slowedAtMs) return
    this.#slowedAtMs = nowMs
    this.#width = Math.max(1, this.#width / 2)
  }
}
