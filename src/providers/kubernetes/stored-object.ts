import { z } from 'zod'
import { PortError } from '../../ports/errors.js'
import type { KubernetesApi } from './api.js'
import { answerError } from './errors.js'
import { find, METADATA, objectIn } from './objects.js'

/** Loose, like the objects themselves should be: fields of others are sent back as they came. */
export const STORED_METADATA = METADATA.loose().extend({ resourceVersion: z.string().min(1) })

export interface Stored {
  readonly metadata: z.infer<typeof STORED_METADATA>
}

export interface Kind<T extends Stored> {
  readonly apiVersion: string
  readonly kind: string
  /** In the path of the API. */
  readonly plural: string
  readonly schema: z.ZodType<T>
}

const NAME = 'noderoll'
const LABELS = { 'app.kubernetes.io/managed-by': NAME }

/** One object called `noderoll`, written compare-and-set. */
export class StoredObject<T extends Stored> {
  readonly where: string
  readonly #api: KubernetesApi
  readonly #kind: Kind<T>
  readonly #namespace: string

  constructor(api: KubernetesApi, kind: Kind<T>, namespace: string) {
    this.where = `The ${kind.kind} ${namespace}/${NAME}`
    this.#api = api
    this.#kind = kind
    this.#namespace = namespace
  }

  async read(signal: AbortSignal): Promise<T | null> {
    return await find(
      this.#api,
      `${this.#collection}/${NAME}`,
      this.#kind.schema,
      `read ${this.#noun}`,
      signal,
    )
  }

  /** The object as read, if it is still at this version; else throws `PortError` `conflict`. */
  async at(version: string, signal: AbortSignal): Promise<T> {
    const found = await this.read(signal)
    if (found === null || found.metadata.resourceVersion !== version) {
      throw this.conflict('somebody else wrote it first')
    }
    return found
  }

  /** Throws `PortError` `conflict` when there is one already. */
  async create(fields: object, signal: AbortSignal): Promise<T> {
    const { apiVersion, kind } = this.#kind
    const metadata = { name: NAME, namespace: this.#namespace, labels: LABELS }
    return await this.#write('POST', this.#collection, { apiVersion, kind, metadata, ...fields }, signal)
  }

  /** Replaces `found` by itself with other fields. Throws `PortError` `conflict` when it has changed since. */
  async replace(found: T, fields: object, signal: AbortSignal): Promise<T> {
    const { apiVersion, kind } = this.#kind
    const metadata = { ...found.metadata, labels: { ...found.metadata.labels, ...LABELS } }
    const body = { ...found, apiVersion, kind, metadata, ...fields }
    return await this.#write('PUT', `${this.#collection}/${NAME}`, body, signal)
  }

  conflict(why: string): PortError {
    return new PortError('conflict', `Could not write ${this.#noun}: ${why}.`)
  }

  async #write(method: 'POST' | 'PUT', path: string, body: object, signal: AbortSignal): Promise<T> {
    const doing = `write ${this.#noun}`
    const answer = await this.#api.call({ doing, method, path, body }, signal)
    if (answer.code === 404 && method === 'PUT') throw this.conflict(answerError(answer, doing).message)
    return objectIn(answer, this.#kind.schema, doing)
  }

  get #noun(): string {
    return this.where.replace('The', 'the')
  }

  get #collection(): string {
    const { apiVersion, plural } = this.#kind
    const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    return `${root}/namespaces/${encodeURIComponent(this.#namespace)}/${plural}`
  }
}
