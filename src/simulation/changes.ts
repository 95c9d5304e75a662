export type Unsubscribe = () => void

/** Tells listeners what happened, and lets a caller wait until something holds, without polling. */
export class Changes<T> {
  readonly #listeners = new Set<(event: T) => void>()

  subscribe(listener: (event: T) => void): Unsubscribe {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  tell(event: T): void {
    for (const listener of [...this.#listeners]) listener(event)
  }

  /** Resolves as soon as `condition` holds, looking once now and then at every event; rejects naming `what`. */
  until(what: string, condition: () => boolean, timeoutMs: number): Promise<void> {
    if (condition()) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const settle = (error: Error | null) => {
        clearTimeout(timer)
        unsubscribe()
        if (error === null) resolve()
        else reject(error)
      }
      const timer = setTimeout(
        () => settle(new Error(`Waited ${timeoutMs / 1000} s in vain until ${what}`)),
        timeoutMs,
      )
      const unsubscribe = this.subscribe(() => {
        try {
          if (condition()) settle(null)
        } catch (error) {
          settle(error instanceof Error ? error : new Error(String(error)))
        }
      })
    })
  }
}
