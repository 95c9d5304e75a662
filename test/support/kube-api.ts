import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'

export interface KubeApiAccess {
  url: string
  /** PEM. */
  ca: string
  token: string
}

export interface KubeObject {
  apiVersion?: string
  kind?: string
  metadata: {
    name: string
    namespace?: string
    uid?: string
    resourceVersion?: string
    labels?: Record<string, string>
    annotations?: Record<string, string>
    finalizers?: string[]
    deletionTimestamp?: string
  }
  // biome-ignore lint/suspicious/noExplicitAny: tests look into objects of every kind
  [field: string]: any
}

export interface KubeAnswer {
  status: number
  headers: Record<string, string | string[] | undefined>
  /** The object, the list (`items`), or the Status. Text that is not JSON is in `text`. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  body: any
  text: string
}

export interface CallOptions {
  contentType?: string
  userAgent?: string
  signal?: AbortSignal | undefined
}

/** A few lines of HTTP for tests that arrange or look at a cluster without the client that they test. */
export class KubeApi {
  readonly #access: KubeApiAccess
  readonly #agent: Agent

  constructor(access: KubeApiAccess) {
    this.#access = access
    this.#agent = new Agent({ keepAlive: true, ca: access.ca, maxSockets: 32 })
  }

  /** One request. A status of 400 and above is an answer, too. */
  async call(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<KubeAnswer> {
    const incoming = await this.#send(method, path, body, options)
    let text = ''
    for await (const chunk of incoming) text += chunk
    return { status: incoming.statusCode ?? 0, headers: incoming.headers, body: parsed(text), text }
  }

  /** One request that has to succeed. */
  async ok(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<KubeObject> {
    const answer = await this.call(method, path, body, options)
    if (answer.status >= 400) throw new Error(`${method} ${path}: ${answer.status} ${answer.text.trim()}`)
    return answer.body as KubeObject
  }

  async list(path: string): Promise<KubeObject[]> {
    const list = await this.ok('GET', path)
    return (list.items ?? []) as KubeObject[]
  }

  /** The events of a list URL, until the server ends the stream or `signal` does, which throws. */
  async *watch(path: string, signal?: AbortSignal): AsyncGenerator<{ type: string; object: KubeObject }> {
    const query = path.includes('?') ? '&watch=true' : '?watch=true'
    const incoming = await this.#send('GET', path + query, undefined, { signal })
    let rest = ''
    for await (const chunk of incoming) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) yield JSON.parse(line)
    }
  }

  close(): void {
    this.#agent.destroy()
  }

  #send(method: string, path: string, body: unknown, options: CallOptions): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
      const headers = {
        accept: 'application/json',
        authorization: `Bearer ${this.#access.token}`,
        'user-agent': options.userAgent ?? 'noderoll-testbed',
        // Node sends the body of a DELETE without a length otherwise, and the server takes it for the next request.
        ...(bytes && {
          'content-type': options.contentType ?? contentTypeOf(method),
          'content-length': bytes.length,
        }),
      }
      const { signal } = options
      const url = new URL(path, this.#access.url)
      const outgoing = request(url, { method, agent: this.#agent, headers, ...(signal ? { signal } : {}) })
      outgoing.on('error', reject)
      outgoing.on('response', (incoming) => resolve(incoming.setEncoding('utf8')))
      outgoing.end(bytes)
    })
  }
}

function contentTypeOf(method: string): string {
  return method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
