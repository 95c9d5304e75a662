import type { NodeChange, NodeRecord } from '../../core/model.js'
import { PortError } from '../../ports/errors.js'
import type { KubernetesApi } from './api.js'
import type { NodeCache } from './node-cache.js'
import { slimNode } from './node-cache-content.js'
import { NODE, type WireNode } from './node-record.js'
import { find, get, objectIn } from './objects.js'

const NODES = '/api/v1/nodes'

/** Reading and marking Node objects. */
export class Nodes {
  readonly #api: KubernetesApi
  readonly #cache: NodeCache

  constructor(api: KubernetesApi, cache: NodeCache) {
    this.#api = api
    this.#cache = cache
  }

  async one(name: string, signal: AbortSignal): Promise<NodeRecord | null> {
    const before = this.#cache.known(name)
    const node = await find(this.#api, pathOf(name), NODE, `read node ${name}`, signal)
    if (node !== null) return await this.#cache.seen(slimNode(node), signal)
    this.#cache.missing(name, before)
    return null
  }

  /**
   * One merge patch, then a fresh read: the record returned is what the server stored. `conflict` when the node has
   * changed since `resourceVersion`, and also when the server says yes and the change is not there: somebody undid it
   * or something on the way dropped it, so read and decide again.
   */
  async patch(
    name: string,
    resourceVersion: string,
    change: NodeChange,
    signal: AbortSignal,
  ): Promise<NodeRecord> {
    const doing = `patch node ${name}`
    const call = {
      doing,
      method: 'PATCH',
      path: pathOf(name),
      // Servers take a patch without this for a list of operations, or refuse it.
      contentType: 'application/merge-patch+json',
      body: patchBody(resourceVersion, change),
    } as const
    const answered = objectIn(await this.#api.call(call, signal), NODE, doing)
    const stored = await get(this.#api, pathOf(name), NODE, `read node ${name} back`, signal)
    const missing = [...missingIn(answered, change), ...missingIn(stored, change)]
    if (missing.length > 0) {
      const fields = [...new Set(missing)].join(', ')
      throw new PortError('conflict', `Could not ${doing}: accepted, but not stored: ${fields}.`)
    }
    return await this.#cache.seen(slimNode(stored), signal)
  }
}

function pathOf(name: string): string {
  return `${NODES}/${encodeURIComponent(name)}`
}

function patchBody(resourceVersion: string, { unschedulable, labels, annotations }: NodeChange): object {
  return {
    metadata: { resourceVersion, ...(labels && { labels }), ...(annotations && { annotations }) },
    ...(unschedulable === undefined ? {} : { spec: { unschedulable } }),
  }
}

/** Fields of the change that the node does not show. */
function missingIn({ metadata, spec }: WireNode, change: NodeChange): string[] {
  const isUnschedulable = spec?.unschedulable === true
  return [
    ...(change.unschedulable === undefined || change.unschedulable === isUnschedulable
      ? []
      : ['spec.unschedulable']),
    ...differing(metadata.labels ?? {}, change.labels ?? {}),
    ...differing(metadata.annotations ?? {}, change.annotations ?? {}),
  ]
}

function differing(
  stored: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string | null>>,
): string[] {
  return Object.entries(wanted)
    .filter(([key, value]) => (stored[key] ?? null) !== value)
    .map(([key]) => key)
}
