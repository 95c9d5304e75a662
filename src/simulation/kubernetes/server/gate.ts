import { Changes, type Unsubscribe } from '../../changes.js'

/** Open, everything goes through; shut, everything waits: how a server hangs without losing anything. */
export class Gate {
  readonly #opened = new Changes<null>()
  #isOpen = true

  get isOpen(): boolean {
    return this.#isOpen
  }

  shut(): void {
    this.#isOpen = false
  }

  open(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#opened.tell(null)
  }

  onOpen(listener: () => void): Unsubscribe {
    return this.#opened.subscribe(listener)
  }

  async passed(): Promise<void> {
    while (!this.#isOpen) {
      await new Promise<void>((resolve) => {
        const unsubscribe = this.#opened.subscribe(() => {
          unsubscribe()
          resolve()
        })
      })
    }
  }
}
