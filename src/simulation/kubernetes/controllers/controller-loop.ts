import { ApiError } from '../objects/api-error.js'
import type { Store } from '../objects/store.js'
import type { Gate } from '../server/gate.js'
import type { Controller } from './controller.js'

const RETRY_MS = 100

/** Runs controllers on every change, each key once however often it changed meanwhile. */
export class ControllerLoop {
  readonly #controllers: readonly Controller[]
  readonly #gate: Gate
  readonly #due: Set<string>[]
  readonly #timers = new Map<string, NodeJS.Timeout>()
  readonly #unsubscribe: (() => void)[]
  #isPaused = false
  #isScheduled = false

  /** Waits while the gate is shut: the API server is not there. */
  constructor(store: Store, gate: Gate, controllers: readonly Controller[]) {
    this.#controllers = controllers
    this.#gate = gate
    this.#due = controllers.map(() => new Set())
    this.#unsubscribe = [
      gate.onOpen(() => this.#schedule()),
      store.subscribe((change) => {
        for (const [index, controller] of controllers.entries()) {
          for (const key of controller.keysOf(change)) this.#due[index]?.add(key)
        }
        this.#schedule()
      }),
    ]
  }

  /** Nothing is done until `resume`, and nothing is forgotten. */
  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#schedule()
  }

  close(): void {
    this.#isPaused = true
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    for (const timer of this.#timers.values()) clearTimeout(timer)
  }

  #schedule(): void {
    if (this.#isScheduled || !this.#mayRun() || this.#due.every(({ size }) => size === 0)) return
    this.#isScheduled = true
    // After the answers that are being written: controllers are other processes.
    setImmediate(() => {
      this.#isScheduled = false
      if (this.#mayRun()) this.#round()
      this.#schedule()
    })
  }

  #mayRun(): boolean {
    return !this.#isPaused && this.#gate.isOpen
  }

  #round(): void {
    for (const [index, controller] of this.#controllers.entries()) {
      const due = this.#due[index] ?? new Set()
      const keys = [...due]
      due.clear()
      for (const key of keys) this.#reconcile(index, controller, key)
    }
  }

  #reconcile(index: number, controller: Controller, key: string): void {
    let againMs: number | undefined
    try {
      againMs = controller.reconcile(key)
    } catch (error) {
      // Refused, as by a namespace that is going: something else may have changed by then. Anything else is a mistake of
      // ours, or an object that nobody checked: to be seen, and no reason to end everything.
      if (error instanceof ApiError) againMs = RETRY_MS
      else process.emitWarning(error instanceof Error ? error : String(error))
    }
    const name = `${index}/${key}`
    clearTimeout(this.#timers.get(name))
    this.#timers.delete(name)
    if (againMs === undefined) return
    const timer = setTimeout(() => {
      this.#timers.delete(name)
      this.#due[index]?.add(key)
      this.#schedule()
    }, againMs)
    timer.unref()
    this.#timers.set(name, timer)
  }
}
