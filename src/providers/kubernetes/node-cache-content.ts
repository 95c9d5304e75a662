import type { NodeRecord } from '../../core/model.js'
import { BootIds } from './boot-ids.js'
import { nodeRecord, readNode, type WireNode } from './node-record.js'

/** A node as it is kept: our record, a hundredth of the object, and the boot id as the node itself tells it. */
export interface SlimNode {
  readonly name: string
  /** Null when the server's versions are no numbers. */
  readonly version: number | null
  readonly bootId: string
  readonly record: NodeRecord
}

/** Of the object itself nothing may be kept: 5,000 of them with their images and managed fields are 100 MB. */
export function slimNode(node: WireNode): SlimNode {
  const { name, resourceVersion } = node.metadata
  const bootId = node.status?.nodeInfo?.bootID ?? ''
  return { name, version: versionOf(resourceVersion), bootId, record: nodeRecord(node, bootId) }
}

/** An item of a node list, or the object of a watch event. */
export function readSlimNode(item: unknown): SlimNode {
  return slimNode(readNode(item))
}

/**
 * All nodes at one position of the cluster's history (a resource version), and some of them further on: those that were
 * read or written one by one. Whatever comes late or twice, no node ever goes back to an older version.
 */
export class NodeCacheContent {
  readonly #bootIds = new BootIds()
  #kept = new Map<string, SlimNode>()
  #position: number | null = null

  /** Everything up to this resource version is in; null when that is not known of any. */
  get position(): number | null {
    return this.#position
  }

  /** Whether there has been a list to compare boot ids with. */
  get knowsBootIds(): boolean {
    return this.#bootIds.known
  }

  /** Something may have been missed. What is in stays for the next list to be compared with: it may be older. */
  forget(): void {
    this.#position = null
  }

  /** Boot ids stay, to compare with those of nodes that are read alone. */
  clear(): void {
    this.#position = null
    this.#kept = new Map()
  }

  /**
   * A whole list of the server's, and where the content stood when it was asked for. A list from before that is of a
   * cluster that was put back from a backup: only the list counts then.
   */
  listed(nodes: readonly SlimNode[], resourceVersion: string | null, before: number | null): void {
    const listed = versionOf(resourceVersion)
    if (this.#position !== null && listed !== null && listed < this.#position) {
      // The events that came while the pages were read are further on than the list.
      if (before === null || listed >= before) return
      this.clear()
    }
    const earlier = this.#kept
    this.clear()
    this.#bootIds.listed(nodes)
    if (listed === null) return
    this.#position = listed
    this.#kept = new Map(nodes.map((node) => [node.name, node]))
    for (const node of earlier.values()) {
      const version = node.version ?? 0
      if (version > listed && version > this.#versionOf(node.name)) this.#keep(node)
    }
  }

  /** A node that was read or written by itself. */
  seen(node: SlimNode): void {
    this.#takeIfNewer(node, this.#position ?? 0)
  }

  /** A node that is not there; `before` is what was known when the question was asked. */
  missing(name: string, before: NodeRecord | null): void {
    if ((this.#kept.get(name)?.record ?? null) === before) this.#remove(name)
  }

  /** The node as it is kept, for `missing`. */
  kept(name: string): NodeRecord | null {
    return this.#kept.get(name)?.record ?? null
  }

  /**
   * One event of the watch, or a bookmark (without a node). True when it shows the server at least where the content is:
   * one that a list has overtaken says nothing about now, and may tell of a node that has gone since.
   */
  happened(type: string, resourceVersion: string | null, node: SlimNode | null): boolean {
    const version = versionOf(resourceVersion)
    if (version === null) this.forget()
    if (this.#position === null || version === null || version < this.#position) return false
    const before = this.#position
    this.#position = version
    if (node === null || version === before) return true
    if (type !== 'DELETED') this.#takeIfNewer(node, before)
    else if (this.#versionOf(node.name) < version) this.#remove(node.name)
    return true
  }

  /** In the order of the list, which is by name, apart from those that have joined since. */
  records(): NodeRecord[] {
    return [...this.#kept.values()].map((node) => this.record(node))
  }

  /** One node as our record, its boot id compared with all others. */
  record({ name, bootId, record }: SlimNode): NodeRecord {
    const proven = this.#bootIds.proven(name, bootId)
    return proven === record.bootId ? record : { ...record, bootId: proven }
  }

  /** Up to `position` all is known: a node of back then that is not kept is gone. */
  #takeIfNewer(node: SlimNode, position: number): void {
    const known = this.#kept.get(node.name)
    if ((node.version ?? 0) > (known === undefined ? position : (known.version ?? 0))) this.#keep(node)
  }

  #keep(node: SlimNode): void {
    this.#kept.set(node.name, node)
    this.#bootIds.seen(node.name, node.bootId)
  }

  #remove(name: string): void {
    this.#kept.delete(name)
    this.#bootIds.gone(name)
  }

  #versionOf(name: string): number {
    return this.#kept.get(name)?.version ?? 0
  }
}

/** Resource versions of one collection are whole numbers that grow (promised since 1.35, true before); null otherwise. */
function versionOf(resourceVersion: string | null | undefined): number | null {
  if (!/^[1-9]\d*$/.test(resourceVersion ?? '')) return null
  const version = Number(resourceVersion)
  return Number.isSafeInteger(version) ? version : null
}
