import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Agent, createServer, type Server } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { selfSigned } from './certificates.js'
import { ask, bytesOf, type ProxiedResponse, send, whole, withoutHopByHop } from './http-messages.js'

export interface ProxiedRequest {
  method: string
  /** With the query. */
  path: string
  headers: IncomingHttpHeaders
  body: string
  /** Milliseconds since 1970. */
  time: number
}

export interface LoggedRequest extends ProxiedRequest {
  verdict: Verdict['kind']
  /** What the client was told; undefined while open, and for ever when it was told nothing. */
  status?: number
  finished?: number
}

export interface PassOptions {
  /** Request headers to set; undefined removes one. */
  headers?: Record<string, string | undefined>
  /** Called when the whole response has arrived and nothing of it has been forwarded; it may wait. Not for watches. */
  onResponse?: (response: ProxiedResponse, request: ProxiedRequest) => void | Promise<void>
  /** What the client shall see instead. Not for watches. */
  change?: (response: ProxiedResponse) => Partial<ProxiedResponse>
}

export type Verdict =
  | { kind: 'pass'; options: PassOptions }
  | { kind: 'black-hole' }
  | { kind: 'refuse' }
  | { kind: 'answer'; response: ProxiedResponse }
  | { kind: 'delay'; ms: number; then: Verdict }
  | { kind: 'lose-answer'; hang: boolean }
  | { kind: 'pretend' }

/** To the API server, and back. */
export function pass(options: PassOptions = {}): Verdict {
  return { kind: 'pass', options }
}

/** Takes the request and says nothing, ever. The API server never sees it. */
export function blackHole(): Verdict {
  return { kind: 'black-hole' }
}

/** Breaks the connection. The API server never sees the request. */
export function refuse(): Verdict {
  return { kind: 'refuse' }
}

/** Answers in place of the API server; a body that is not text is sent as JSON. */
export function answer(status: number, body: unknown = '', headers: OutgoingHttpHeaders = {}): Verdict {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const contentType = typeof body === 'string' ? 'text/plain' : 'application/json'
  return {
    kind: 'answer',
    response: { status, headers: { 'content-type': contentType, ...headers }, body: text },
  }
}

/** Holds the request up. As on a real network it arrives even when its sender has given up by then. */
export function delay(ms: number, then: Verdict = pass()): Verdict {
  return { kind: 'delay', ms, then }
}

/** The API server acts and answers, but the client never learns: the connection breaks, or hangs. */
export function loseAnswer(options: { hang?: boolean } = {}): Verdict {
  return { kind: 'lose-answer', hang: options.hang ?? false }
}

/** Drops a write and answers 200 with the object as it is. */
export function pretend(): Verdict {
  return { kind: 'pretend' }
}

export type RequestMatch =
  | { method?: string; path?: string | RegExp }
  | ((request: ProxiedRequest) => boolean)

export interface Rule {
  /** The requests it has decided. */
  readonly hits: ProxiedRequest[]
  /** The first request that it decides. */
  readonly hit: Promise<ProxiedRequest>
  remove(): void
}

export interface RuleOptions {
  /** Decide so many requests, then leave the rest alone. */
  times?: number
}

type Decision = Verdict | ((request: ProxiedRequest) => Verdict | undefined | Promise<Verdict | undefined>)

/** Stands in front of an API server and does to requests what networks and overloaded servers do. */
export class FaultProxy {
  /** PEM; belongs into the kubeconfig of who goes through the proxy. */
  readonly ca: string
  readonly requests: LoggedRequest[] = []
  readonly #server: Server
  readonly #upstream: string
  readonly #agent: Agent
  readonly #sockets = new Set<Socket>()
  readonly #streams = new Set<IncomingMessage>()
  #rules: { match: RequestMatch; decide: Decision; left: number; note: (request: ProxiedRequest) => void }[] =
    []
  #port = 0
  #thawed: Promise<void> | undefined
  #thaw: (() => void) | undefined

  private constructor(upstream: string, upstreamCa: string, certificate: { cert: string; key: string }) {
    this.#upstream = upstream
    this.ca = certificate.cert
    this.#agent = new Agent({ keepAlive: true, ca: upstreamCa })
    this.#server = createServer(
      { ...certificate, keepAliveTimeout: 0, requestTimeout: 0 },
      (incoming, outgoing) => {
        this.#handle(incoming, outgoing).catch((error: NodeJS.ErrnoException) => {
          // Broken connections are what this is for; anything else is a mistake in a rule.
          if (!error.code) console.error(error)
          incoming.socket.destroy()
        })
      },
    )
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
  }

  static async start(upstream: { url: string; ca: string }): Promise<FaultProxy> {
    const proxy = new FaultProxy(upstream.url, upstream.ca, await selfSigned('fault-proxy'))
    await proxy.up()
    return proxy
  }

  get url(): string {
    return `https://127.0.0.1:${this.#port}`
  }

  /** What shall happen to matching requests. Of several rules the newest wins; without one, requests pass. */
  on(match: RequestMatch, decide: Decision, options: RuleOptions = {}): Rule {
    const hits: ProxiedRequest[] = []
    let noteFirst: (request: ProxiedRequest) => void
    const hit = new Promise<ProxiedRequest>((resolve) => {
      noteFirst = resolve
    })
    const rule = {
      match,
      decide,
      left: options.times ?? Number.POSITIVE_INFINITY,
      note: (request: ProxiedRequest) => {
        hits.push(request)
        noteFirst(request)
      },
    }
    this.#rules.unshift(rule)
    return {
      hits,
      hit,
      remove: () => {
        this.#rules = this.#rules.filter((other) => other !== rule)
      },
    }
  }

  /** Removes every rule, forgets the requests, and lets traffic flow again. */
  async reset(): Promise<void> {
    this.#rules = []
    this.requests.length = 0
    this.thaw()
    await this.up()
  }

  /** Refuses connections, and breaks those there are. */
  async down(): Promise<void> {
    if (!this.#server.listening) return
    const closed = new Promise((resolve) => this.#server.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  /** Listens again, on the same port. */
  async up(): Promise<void> {
    if (this.#server.listening) return
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(this.#port, '127.0.0.1', () => {
        this.#server.off('error', reject)
        resolve()
      })
    })
    this.#port = (this.#server.address() as AddressInfo).port
  }

  /** As if the cable were cut: connections stay open, watches too, and nothing goes through. */
  freeze(): void {
    this.#thawed ??= new Promise((resolve) => {
      this.#thaw = resolve
    })
    for (const stream of this.#streams) stream.pause()
  }

  /** Everything that was held up arrives. */
  thaw(): void {
    this.#thaw?.()
    this.#thawed = undefined
    for (const stream of this.#streams) stream.resume()
  }

  async stop(): Promise<void> {
    this.thaw()
    await this.down()
    this.#agent.destroy()
  }

  async #handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = 'GET', url: path = '/', headers } = incoming
    const time = Date.now()
    const bytes = await bytesOf(incoming)
    const seen: ProxiedRequest = { method, path, headers, body: bytes.toString(), time }
    const verdict = await this.#decide(seen)
    const entry: LoggedRequest = { ...seen, verdict: verdict.kind }
    this.requests.push(entry)
    outgoing.once('finish', () => {
      entry.status = outgoing.statusCode
      entry.finished = Date.now()
    })
    await this.#thawed
    await this.#carryOut(verdict, seen, bytes, outgoing)
  }

  async #decide(seen: ProxiedRequest): Promise<Verdict> {
    for (const rule of this.#rules) {
      if (rule.left <= 0 || !matches(rule.match, seen)) continue
      rule.left--
      const verdict = typeof rule.decide === 'function' ? await rule.decide(seen) : rule.decide
      if (verdict) {
        rule.note(seen)
        return verdict
      }
      rule.left++
    }
    return pass()
  }

  async #carryOut(
    verdict: Verdict,
    seen: ProxiedRequest,
    bytes: Buffer,
    outgoing: ServerResponse,
  ): Promise<void> {
    switch (verdict.kind) {
      case 'pass':
        return await this.#forward(seen, bytes, verdict.options, outgoing)
      case 'black-hole':
        return
      case 'refuse':
        outgoing.destroy()
        return
      case 'answer':
        send(outgoing, verdict.response)
        return
      case 'delay':
        await sleep(verdict.ms)
        return await this.#carryOut(verdict.then, seen, bytes, outgoing)
      case 'lose-answer':
        await whole(await ask(this.#upstream, this.#agent, { ...seen, bytes }))
        if (!verdict.hang) outgoing.destroy()
        return
      case 'pretend': {
        const { authorization, accept } = seen.headers
        const path = seen.path.replace(/\?.*/, '')
        const current = await ask(this.#upstream, this.#agent, {
          method: 'GET',
          path,
          headers: { authorization, accept },
        })
        send(outgoing, await whole(current))
        return
      }
    }
  }

  async #forward(
    seen: ProxiedRequest,
    bytes: Buffer,
    options: PassOptions,
    outgoing: ServerResponse,
  ): Promise<void> {
    const headers: IncomingHttpHeaders = { ...seen.headers, ...options.headers }
    const { onResponse, change } = options
    if (onResponse || change) headers['accept-encoding'] = 'identity'
    const answered = await ask(this.#upstream, this.#agent, { ...seen, headers, bytes }, outgoing)
    if (onResponse || change) {
      const response = await whole(answered)
      await onResponse?.(response, seen)
      await this.#thawed
      send(outgoing, { ...response, ...change?.(response) })
      return
    }
    await this.#thawed
    outgoing.writeHead(answered.statusCode ?? 502, withoutHopByHop(answered.headers))
    outgoing.flushHeaders()
    this.#streams.add(answered)
    answered.once('close', () => this.#streams.delete(answered))
    answered.on('data', (chunk: Buffer) => outgoing.write(chunk))
    answered.once('end', () => outgoing.end())
    answered.once('error', () => outgoing.destroy())
  }
}

function matches(match: RequestMatch, seen: ProxiedRequest): boolean {
  if (typeof match === 'function') return match(seen)
  if (match.method !== undefined && match.method !== seen.method) return false
  if (match.path === undefined) return true
  return typeof match.path === 'string' ? seen.path.split('?')[0] === match.path : match.path.test(seen.path)
}
