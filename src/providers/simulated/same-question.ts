/**
 * A question that one step asks for machine after machine, whatever the machine is: while it is under way for a signal it
 * is not asked again with that signal. Nothing is remembered, and no step's abort fails another step.
 */
export class SameQuestion<T> {
  readonly #ask: (signal: AbortSignal) => Promise<T>
  readonly #underWay = new WeakMap<AbortSignal, Promise<T>>()

  constructor(ask: (signal: AbortSignal) => Promise<T>) {
    this.#ask = ask
  }

  answer(signal: AbortSignal): Promise<T> {
    const asked = this.#underWay.get(signal) ?? this.#ask(signal).finally(() => this.#underWay.delete(signal))
    this.#underWay.set(signal, asked)
    return asked
  }
}
