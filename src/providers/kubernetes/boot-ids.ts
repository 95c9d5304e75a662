/** Words that tools write in place of a boot id they hide. */
const HIDDEN = /^\W*(redacted|masked|removed|hidden|unknown|none|null|n\/a)\W*$/i

const SEVERAL = Symbol('several nodes')

/**
 * Which boot ids prove something. Nodes that are containers all have their host's, and some dumps blank it: such an id
 * says nothing about a restart of this one node. Remembers the last list, since a node read alone does not show it.
 */
export class BootIds {
  #ownerOf: Map<string, string | typeof SEVERAL> | null = null

  /** Whether there has been a list to compare with. */
  get known(): boolean {
    return this.#ownerOf !== null
  }

  /** Takes note of a whole list of nodes. */
  listed(nodes: readonly { readonly name: string; readonly bootId: string }[]): void {
    this.#ownerOf = new Map()
    for (const { name, bootId } of nodes) {
      this.#ownerOf.set(bootId, this.#ownerOf.has(bootId) ? SEVERAL : name)
    }
  }

  /** This node's boot id, or null when it is missing, masked or another node has it too. */
  proven(name: string, bootId: string): string | null {
    if (isBlank(bootId)) return null
    const owner = this.#ownerOf?.get(bootId)
    return owner === undefined || owner === name ? bootId : null
  }
}

/** Empty, one and the same character throughout (zeros, `xxxxxxxx-…`), or a word that says it was hidden. */
function isBlank(bootId: string): boolean {
  return new Set(bootId.replace(/[^A-Za-z0-9]/g, '')).size <= 1 || HIDDEN.test(bootId)
}
