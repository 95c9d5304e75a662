import type { ServerResponse } from 'node:http'
import { ApiError } from '../objects/api-error.js'
import type { ApiObject } from '../objects/api-object.js'
import { apiVersionOf } from '../objects/resource.js'
import { type Change, keyOfObject, type Store } from '../objects/store.js'
import { numberIn, type ResourceRequest } from './api-request.js'
import type { Gate } from './gate.js'
import { selectorIn } from './list.js'
import { type Form, inForm } from './representation.js'

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'

/** Between half an hour and an hour, unless the client says for how long. */
const SHORTEST_SECONDS = 1_800
const BOOKMARK_MS = 60_000
/** A last bookmark so long before the end lets the client go on from there. */
const BEFORE_END_MS = 2_000
/** A client that reads more slowly than things change is let go, and lists again. */
const MOST_UNREAD_BYTES = 32 * 1024 * 1024

export interface WatchParts {
  readonly store: Store
  readonly gate: Gate
  readonly request: ResourceRequest
  readonly form: Form
  readonly response: ServerResponse
}

/** Tells a client of every change until the time is up or the client leaves. Throws `ApiError` before it begins. */
export function startWatch(parts: WatchParts): void {
  new Watch(parts).begin()
}

class Watch {
  readonly #parts: WatchParts
  readonly #matches: (object: ApiObject) => boolean
  readonly #hasBookmarks: boolean
  readonly #endsAfterMs: number
  /** Everything up to this version has been told. */
  #position = 0
  /** The last version that the client has seen. */
  #told = 0
  #timers: NodeJS.Timeout[] = []
  #unsubscribe: (() => void)[] = []

  constructor(parts: WatchParts) {
    this.#parts = parts
    this.#matches = selectorIn(parts.request)
    const { query } = parts.request
    this.#hasBookmarks = query.get('allowWatchBookmarks') === 'true'
    const seconds = numberIn(query, 'timeoutSeconds') || SHORTEST_SECONDS * (1 + Math.random())
    this.#endsAfterMs = seconds * 1000
  }

  begin(): void {
    const { store, gate, request, response } = this.#parts
    const { query } = request
    const from = query.get('resourceVersion') || '0'
    if (!/^\d+$/.test(from)) {
      const why = `strconv.ParseUint: parsing "${from}": invalid syntax`
      throw new ApiError(500, null, `resourceVersion: Invalid value: "${from}": ${why}`)
    }
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' })
    response.flushHeaders()
    const wantsInitial = query.get('sendInitialEvents') === 'true'
    if (from === '0' || wantsInitial) {
      this.#sendAll(wantsInitial)
    } else {
      this.#position = Number(from)
      this.#told = this.#position
    }
    response.on('close', () => this.#leave())
    this.#unsubscribe = [store.subscribe(() => this.#send()), gate.onOpen(() => this.#send())]
    this.#timers = [
      setTimeout(() => this.#end(), this.#endsAfterMs),
      ...(this.#hasBookmarks ? this.#bookmarkTimers() : []),
    ]
    this.#send()
  }

  #sendAll(endsWithBookmark: boolean): void {
    const { store, request } = this.#parts
    this.#position = store.version
    const objects = store.list(request.resource).filter(this.#matches)
    const byKey = objects.map((object) => ({ key: keyOfObject(object), object }))
    byKey.sort((a, b) => (a.key < b.key ? -1 : 1))
    for (const { object } of byKey) this.#tell('ADDED', object)
    if (endsWithBookmark) this.#bookmark({ 'k8s.io/initial-events-end': 'true' })
  }

  #send(): void {
    const { store, gate, request } = this.#parts
    if (!gate.isOpen || this.#position >= store.version) return
    let changes: readonly Change[]
    try {
      changes = store.since(this.#position)
    } catch (error) {
      if (error instanceof ApiError) this.#write('ERROR', error.status)
      this.#end()
      return
    }
    this.#position = store.version
    for (const change of changes) if (change.resource === request.resource) this.#tellChange(change)
  }

  /** To a client that selects, an object comes and goes as it begins and ceases to match. */
  #tellChange({ before, object, deleted }: Change): void {
    const matched = before !== null && this.#matches(before)
    if (deleted) {
      if (matched) this.#tell('DELETED', object)
      return
    }
    if (this.#matches(object)) this.#tell(matched ? 'MODIFIED' : 'ADDED', object)
    else if (matched) {
      const { resourceVersion } = object.metadata
      this.#tell('DELETED', { ...before, metadata: { ...before.metadata, resourceVersion } })
    }
  }

  #tell(type: EventType, object: ApiObject): void {
    const { form, request } = this.#parts
    this.#write(type, inForm(form, request.resource, object))
  }

  #bookmarkTimers(): NodeJS.Timeout[] {
    const regularly = setInterval(() => this.#bookmark(), BOOKMARK_MS)
    const last = this.#endsAfterMs - BEFORE_END_MS
    return last > BEFORE_END_MS ? [regularly, setTimeout(() => this.#bookmark(), last)] : [regularly]
  }

  #bookmark(annotations?: Readonly<Record<string, string>>): void {
    const { request, form, gate } = this.#parts
    // Who has heard of everything needs no word of it.
    if (!gate.isOpen || (annotations === undefined && this.#position <= this.#told)) return
    const { resource } = request
    const metadata = {
      ...{ resourceVersion: String(this.#position), creationTimestamp: null },
      ...(annotations === undefined ? {} : { annotations }),
    }
    const whole = { kind: resource.kind, apiVersion: apiVersionOf(resource), metadata }
    const meta = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata }
    this.#write('BOOKMARK', form === 'metadata' ? meta : whole)
  }

  #write(type: EventType, object: object): void {
    const { response } = this.#parts
    this.#told = this.#position
    response.write(`${JSON.stringify({ type, object })}\n`)
    if (response.writableLength > MOST_UNREAD_BYTES) response.destroy()
  }

  #end(): void {
    if (!this.#parts.gate.isOpen) {
      // A server that hangs ends nothing, either.
      this.#timers.push(setTimeout(() => this.#end(), BEFORE_END_MS))
      return
    }
    this.#leave()
    this.#parts.response.end()
  }

  #leave(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    this.#unsubscribe = []
  }
}
