import { unlessAborted } from './deadline.js'

interface UnderWay<T> {
  readonly answer: Promise<T>
  readonly controller: AbortController
  waiting: number
}

/**
 * A question that is the same whoever asks it: while it is under way it is not asked again, and its answer serves
 * the next ones for a while. Nobody's abort fails anybody else: the request ends when the last one who waits for it has left.
 */
export class SameQuestion<T> {
  readonly #lastsMs: number
  #underWay: UnderWay<T> | null = null
  #last: { readonly answer: T; readonly atMs: number } | null = null

  constructor(lastsMs: number) {
    this.#lastsMs = lastsMs
  }

  /** `ask` is called where nobody waits yet, with a signal that ends when nobody does any more. */
  async answer(signal: AbortSignal, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted()
    if (this.#last !== null && performance.now() - this.#last.atMs < this.#lastsMs) return this.#last.answer
    const asked = this.#underWay ?? this.#begin(ask)
    this.#underWay = asked
    asked.waiting += 1
    try {
      return await unlessAborted(asked.answer, signal)
    } finally {
      asked.waiting -= 1
      if (asked.waiting === 0) this.#end(asked)
    }
  }

  #begin(ask: (signal: AbortSignal) => Promise<T>): UnderWay<T> {
    const controller = new AbortController()
    const answer = ask(controller.signal).then((found) => {
      this.#last = { answer: found, atMs: performance.now() }
      return found
    })
    return { answer, controller, waiting: 0 }
  }

  #end(asked: UnderWay<T>): void {
    if (this.#underWay === asked) this.#underWay = null
    asked.controller.abort(new Error('nobody waits for it any more'))
  }
}
