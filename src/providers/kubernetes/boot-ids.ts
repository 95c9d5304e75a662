/** Words that tools write in place of a boot id they hide. */
const HIDDEN = /^\W*(redacted|masked|removed|hidden|unknown|none|null|n\/a)\W*$/i

/**
 * Which boot ids prove something. Nodes that are containers all have their host's, and some dumps blank it: such an id
 * says nothing about a restart of this one node. Remembers what every node has, since a node read alone does not show it.
 */
export class BootIds {
  #idOf: Map<string, string> | null = null
  readonly #nodesWith = new Map<string, number>()

  /** Whether there has been a list to compare with. */
  get known(): boolean {
    return this.#idOf !== null
  }

  /** Takes note of a whole list of nodes: what is not in it is gone. */
  listed(nodes: Iterable<{ readonly name: string; readonly bootId: string }>): void {
    this.#idOf = new Map()
    this.#nodesWith.clear()
    for (const { name, bootId } of nodes) this.seen(name, bootId)
  }

  /** Takes note of one node; says nothing before the first list. */
  seen(name: string, bootId: string): void {
    if (this.#idOf === null || this.#idOf.get(name) === bootId) return
    this.gone(name)
    this.#idOf.set(name, bootId)
    this.#nodesWith.set(bootId, (this.#nodesWith.get(bootId) ?? 0) + 1)
  }

  gone(name: string): void {
    const bootId = this.#idOf?.get(name)
    if (bootId === undefined) return
    this.#idOf?.delete(name)
    const left = (this.#nodesWith.get(bootId) ?? 0) - 1
    if (left > 0) this.#nodesWith.set(bootId, left)
    else this.#nodesWith.delete(bootId)
  }

  /** This node's boot id, or null when it is missing, masked or another node has it too. */
  proven(name: string, bootId: string): string | null {
    if (isBlank(bootId)) return null
    const own = this.#idOf?.get(name) === bootId ? 1 : 0
    return (this.#nodesWith.get(bootId) ?? 0) > own ? null : bootId
  }
}

/** Empty, one and the same character throughout (zeros, `xxxxxxxx-…`), or a word that says it was hidden. */
function isBlank(bootId: string): boolean {
  return new Set(bootId.replace(/[^A-Za-z0-9]/g, '')).size <= 1 || HIDDEN.test(bootId)
}
