interface Entry<T> {
  readonly at: number
  readonly value: Promise<T>
}

/** Values that change rarely, by key. When a fresh one cannot be had, the old one serves. */
export class Remembered<T> {
  readonly #seconds: number
  readonly #entries = new Map<string, Entry<T>>()

  constructor(seconds: number) {
    this.#seconds = seconds
  }

  async get(key: string, read: () => Promise<T>): Promise<T> {
    const known = this.#entries.get(key)
    const now = performance.now()
    if (known !== undefined && now - known.at < this.#seconds * 1000) return known.value
    const entry = { at: now, value: read() }
    this.#entries.set(key, entry)
    try {
      return await entry.value
    } catch (error) {
      if (known === undefined) this.#entries.delete(key)
      else this.#entries.set(key, known)
      if (known === undefined) throw error
      return known.value
    }
  }
}
