import { SameQuestion } from '../../ports/same-question.js'

interface Known<T> {
  readonly value: T
  readonly untilMs: number
}

/** A question that could not be answered just now is asked again after so long; until then the old answer serves. */
const AGAIN_MS = 30_000

/** Values that change rarely, by key. When a fresh one cannot be had, the old one serves. */
export class Remembered<T> {
  readonly #seconds: number
  readonly #known = new Map<string, Known<T>>()
  readonly #questions = new Map<string, SameQuestion<T>>()

  constructor(seconds: number) {
    this.#seconds = seconds
  }

  /** Under way it is asked once for all; `read` gets a signal that only ends when nobody waits any more. */
  async get(key: string, signal: AbortSignal, read: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const known = this.#known.get(key)
    if (known !== undefined && performance.now() < known.untilMs) return known.value
    const question = this.#questions.get(key) ?? new SameQuestion(0)
    this.#questions.set(key, question)
    try {
      const value = await question.answer(signal, read)
      this.#keep(key, value, this.#seconds * 1000)
      return value
    } catch (error) {
      signal.throwIfAborted()
      if (known === undefined) throw error
      this.#keep(key, known.value, AGAIN_MS)
      return known.value
    }
  }

  #keep(key: string, value: T, forMs: number): void {
    this.#known.set(key, { value, untilMs: performance.now() + forMs })
  }
}
