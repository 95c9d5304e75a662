import { NODES } from '../kinds/node.js'
import { PODS, type Pod } from '../kinds/pod.js'
import { deleteObject } from '../objects/deletion.js'
import type { ObjectIndex } from '../objects/object-index.js'
import type { Change, Store } from '../objects/store.js'
import type { Controller } from './controller.js'

/** A node that was deleted may come back so long, with its pods. */
const QUARANTINE_MS = 40_000

/** Deletes the pods of nodes that do not exist any more: no kubelet will ever say that they have ended. */
export class PodCollector implements Controller {
  readonly #store: Store
  readonly #podsByNode: ObjectIndex<Pod>
  readonly #missedSince = new Map<string, number>()

  constructor(store: Store, podsByNode: ObjectIndex<Pod>) {
    this.#store = store
    this.#podsByNode = podsByNode
  }

  keysOf({ resource, object, deleted }: Change): readonly string[] {
    if (resource === NODES) return deleted ? [object.metadata.name] : []
    const nodeName = resource === PODS && !deleted ? (object as Pod).spec.nodeName : undefined
    return nodeName === undefined || this.#store.find(NODES, '', nodeName) !== undefined ? [] : [nodeName]
  }

  reconcile(nodeName: string): number | undefined {
    const pods = this.#podsByNode.get(nodeName)
    if (this.#store.find(NODES, '', nodeName) !== undefined || pods.length === 0) {
      this.#missedSince.delete(nodeName)
      return undefined
    }
    const since = this.#missedSince.get(nodeName) ?? performance.now()
    this.#missedSince.set(nodeName, since)
    const left = since + QUARANTINE_MS - performance.now()
    if (left > 0) return left
    for (const { metadata } of pods) {
      deleteObject(this.#store, PODS, metadata.namespace ?? '', metadata.name, { gracePeriodSeconds: 0 })
    }
    return undefined
  }
}
