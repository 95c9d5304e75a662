/** Settings are judged for thousands of machines in a row: an answer this young serves the next of them, too. */
const LASTS_MS = 1_000

/**
 * A question that one step asks for machine after machine, whatever the machine is: while it is under way for a signal it
 * is not asked again with that signal, and its answer lasts for a second. No step's abort fails another step.
 */
export class SameQuestion<T> {
  readonly #ask: (signal: AbortSignal) => Promise<T>
  readonly #underWay = new WeakMap<AbortSignal, Promise<T>>()
  #last: { readonly answer: T; readonly atMs: number } | null = null

  constructor(ask: (signal: AbortSignal) => Promise<T>) {
    this.#ask = ask
  }

  async answer(signal: AbortSignal): Promise<T> {
    signal.throwIfAborted()
    if (this.#last !== null && performance.now() - this.#last.atMs < LASTS_MS) return this.#last.answer
    const asked =
      this.#underWay.get(signal) ?? this.#asked(signal).finally(() => this.#underWay.delete(signal))
    this.#underWay.set(signal, asked)
    return await asked
  }

  async #asked(signal: AbortSignal): Promise<T> {
    const answer = await this.#ask(signal)
    this.#last = { answer, atMs: performance.now() }
    return answer
  }
}
