import { HttpMethod, type KubeConfig, RequestContext } from '@kubernetes/client-node'
import { type Dispatcher, request } from 'undici'

/** As much of an API object as everything here relies on; the rest is read field by field. */
export interface KubeObject {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly resourceVersion: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly finalizers?: readonly string[]
    readonly deletionTimestamp?: string
    readonly deletionGracePeriodSeconds?: number
  }
}

export interface KubeList<T> {
  readonly metadata: { readonly resourceVersion: string }
  readonly items: readonly T[]
}

class KubeApiError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'KubeApiError'
    this.status = status
  }
}

export interface KubeApiOptions {
  readonly kubeConfig: KubeConfig
  /** Other API servers of the cluster, used when the one before cannot be reached. */
  readonly endpoints?: readonly string[]
  readonly userAgent?: string
}

const DEADLINE_MS = 10_000
const PARALLEL_REQUESTS = 32
const CREDENTIALS_LIVE_MS = 60_000

/**
 * Plain JSON over one pool of connections: hundreds of pods cost no object mapping and no new handshakes (the
 * generated client opens a pool for every call). Every request has a deadline.
 */
export class KubeApi {
  readonly #options: KubeApiOptions
  readonly #servers: readonly string[]
  readonly #open = new Set<AbortController>()
  readonly #watches = new Set<AbortController>()
  readonly #waiting: (() => void)[] = []
  #server = 0
  #free = PARALLEL_REQUESTS
  #dispatcher: Dispatcher | null = null
  #headers: { readonly values: Record<string, string>; readonly at: number } | null = null
  #closed = false

  constructor(options: KubeApiOptions) {
    this.#options = options
    const server = options.kubeConfig.getCurrentCluster()?.server
    if (server === undefined) throw new Error('The kubeconfig names no cluster')
    this.#servers = [server, ...(options.endpoints ?? [])].map((url) => url.replace(/\/+$/, ''))
  }

  get<T = KubeObject>(path: string): Promise<T> {
    return this.#send('GET', path)
  }

  create<T = KubeObject>(path: string, object: unknown): Promise<T> {
    return this.#send('POST', path, object)
  }

  /** RFC 7386 merge patch; lists are replaced whole. */
  patch<T = KubeObject>(path: string, patch: unknown): Promise<T> {
    return this.#send('PATCH', path, patch, 'application/merge-patch+json')
  }

  delete(path: string, options: unknown = {}): Promise<unknown> {
    return this.#send('DELETE', path, options)
  }

  /** The chunks of a watch until `signal` ends it or the server does. Outside the limit of parallel requests. */
  async *watch(path: string, signal: AbortSignal): AsyncGenerator<Buffer> {
    signal.throwIfAborted()
    const controller = new AbortController()
    const abort = () => controller.abort(new Error('the watch is over'))
    signal.addEventListener('abort', abort)
    this.#watches.add(controller)
    try {
      const { statusCode, body } = await this.#request('GET', path, controller.signal)
      if (statusCode >= 400) throw new KubeApiError(statusCode, `watch ${path}: ${await body.text()}`)
      yield* body as AsyncIterable<Buffer>
    } finally {
      this.#watches.delete(controller)
      signal.removeEventListener('abort', abort)
      abort()
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const controller of [...this.#open, ...this.#watches]) controller.abort(new Error('closed'))
    for (const go of this.#waiting.splice(0)) go()
    await this.#dispatcher?.destroy()
  }

  async #send<T>(
    method: Dispatcher.HttpMethod,
    path: string,
    body?: unknown,
    contentType?: string,
  ): Promise<T> {
    await this.#slot()
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(new Error(`no answer in ${DEADLINE_MS} ms`)), DEADLINE_MS)
    this.#open.add(controller)
    try {
      const answer = await this.#request(method, path, controller.signal, body, contentType)
      const text = await answer.body.text()
      if (answer.statusCode >= 400) {
        throw new KubeApiError(
          answer.statusCode,
          `${method} ${path}: ${answer.statusCode} ${messageOf(text)}`,
        )
      }
      return JSON.parse(text) as T
    } finally {
      clearTimeout(timer)
      this.#open.delete(controller)
      this.#free += 1
      this.#waiting.shift()?.()
    }
  }

  async #request(
    method: Dispatcher.HttpMethod,
    path: string,
    signal: AbortSignal,
    body?: unknown,
    contentType = 'application/json',
  ): Promise<Dispatcher.ResponseData> {
    const headers = await this.#credentials()
    if (this.#closed) throw new Error('The Kubernetes API client is closed')
    const server = this.#server
    try {
      return await request(`${this.#servers[server]}${path}`, {
        method,
        headers: { ...headers, accept: 'application/json', 'content-type': contentType },
        body: body === undefined ? null : JSON.stringify(body),
        signal,
        // Quiet watches are judged by their reader.
        bodyTimeout: 0,
        ...(this.#dispatcher === null ? {} : { dispatcher: this.#dispatcher }),
      })
    } catch (error) {
      if (this.#server === server && this.#servers.length > 1) this.#moveOn()
      throw error
    }
  }

  /** A server that does not answer says nothing on its watches, either: they move with everything else. */
  #moveOn(): void {
    this.#server = (this.#server + 1) % this.#servers.length
    for (const watch of this.#watches) watch.abort(new Error('another API server is tried'))
  }

  async #credentials(): Promise<Record<string, string>> {
    if (this.#headers !== null && Date.now() - this.#headers.at < CREDENTIALS_LIVE_MS)
      return this.#headers.values
    const context = new RequestContext(this.#servers[0] ?? '', HttpMethod.GET)
    await this.#options.kubeConfig.applySecurityAuthentication(context)
    // Each call makes a dispatcher of its own; only the first is kept, or every minute would open a new pool.
    const dispatcher = context.getDispatcher() as Dispatcher | undefined
    if (this.#dispatcher === null) this.#dispatcher = dispatcher ?? null
    else if (dispatcher !== undefined && dispatcher !== this.#dispatcher) await dispatcher.destroy()
    const values = { ...context.getHeaders(), 'user-agent': this.#options.userAgent ?? 'simulated-kubelets' }
    this.#headers = { values, at: Date.now() }
    return values
  }

  async #slot(): Promise<void> {
    while (this.#free === 0 && !this.#closed)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    if (this.#closed) throw new Error('The Kubernetes API client is closed')
    this.#free -= 1
  }
}

/** Is this the API server's answer with that status? */
export function hasStatus(error: unknown, ...statuses: number[]): boolean {
  return error instanceof KubeApiError && statuses.includes(error.status)
}

function messageOf(text: string): string {
  try {
    return String((JSON.parse(text) as { message?: unknown }).message ?? text)
  } catch {
    return text
  }
}
