import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { type ArmState, emptyState } from './arm-state.js'

/** Where the state outlives the process; null: nowhere. */
export class StateFile {
  readonly #path: string | null

  constructor(path: string | null) {
    this.#path = path
  }

  /** What was saved last, or nothing yet. */
  load(): ArmState | null {
    if (this.#path === null || !existsSync(this.#path)) return null
    return { ...emptyState(), ...(JSON.parse(readFileSync(this.#path, 'utf8')) as ArmState) }
  }

  /** Whole or not at all, before the answer that tells of it goes out. */
  save(state: ArmState): void {
    if (this.#path === null) return
    writeFileSync(`${this.#path}.new`, JSON.stringify(state))
    renameSync(`${this.#path}.new`, this.#path)
  }
}
