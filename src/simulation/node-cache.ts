import { Changes } from './changes.js'
import type { NodeObject } from './node-object.js'

/** The Node objects as last seen or written, newest version wins. */
export class NodeCache {
  readonly changes = new Changes<string>()
  readonly #nodes = new Map<string, NodeObject>()
  #synced = false

  /** False until the API server has answered for the first time: what is not here may exist. */
  get synced(): boolean {
    return this.#synced
  }

  get(name: string): NodeObject | undefined {
    return this.#nodes.get(name)
  }

  replaceAll(nodes: readonly NodeObject[]): void {
    this.#synced = true
    const gone = new Set(this.#nodes.keys())
    this.#nodes.clear()
    for (const node of nodes) {
      gone.delete(node.metadata.name)
      this.#nodes.set(node.metadata.name, node)
    }
    for (const name of [...gone, ...this.#nodes.keys()]) this.changes.tell(name)
  }

  put(node: NodeObject): void {
    const { name, uid, resourceVersion } = node.metadata
    const known = this.#nodes.get(name)?.metadata
    // A watch may tell of a write later than the answer to that write did.
    if (known?.uid === uid && BigInt(known.resourceVersion) >= BigInt(resourceVersion)) return
    this.#nodes.set(name, node)
    this.changes.tell(name)
  }

  remove(name: string, uid: string): void {
    if (this.#nodes.get(name)?.metadata.uid !== uid) return
    this.#nodes.delete(name)
    this.changes.tell(name)
  }
}
