import { once } from 'node:events'
import {
  type ClientHttp2Session,
  connect,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import { freePort } from '../support/ports.js'

/** A status of gRPC instead of an answer. */
export interface Fault {
  readonly code: number
  readonly message: string
}

/** Between clients and a real Temporal server: calls pass, except those that are to be answered with a fault. */
export class TemporalProxy {
  readonly address: string
  readonly #server: Http2Server
  readonly #upstream: ClientHttp2Session
  readonly #sessions = new Set<ServerHttp2Session>()
  readonly #open = new Map<ServerHttp2Stream, string>()
  #fault: { readonly methods: RegExp; readonly fault: Fault } | null = null

  private constructor(address: string, server: Http2Server, upstream: ClientHttp2Session) {
    this.address = address
    this.#server = server
    this.#upstream = upstream
    server.on('session', (session) => this.#sessions.add(session))
    server.on('stream', (stream, headers) => this.#answer(stream, headers))
  }

  static async start(upstream: string): Promise<TemporalProxy> {
    const port = await freePort()
    const server = createServer()
    const proxy = new TemporalProxy(`127.0.0.1:${port}`, server, connect(`http://${upstream}`))
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  /** From now on these methods, such as `QueryWorkflow`, are answered so; what waits for an answer gets this one. */
  answer(methods: RegExp, fault: Fault): void {
    this.#fault = { methods, fault }
    for (const [stream, method] of this.#open) if (methods.test(method)) refuse(stream, fault)
  }

  pass(): void {
    this.#fault = null
  }

  async stop(): Promise<void> {
    this.#upstream.destroy()
    for (const session of this.#sessions) session.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #answer(stream: ServerHttp2Stream, { host: _, ...headers }: IncomingHttpHeaders): void {
    const method = headers[':path']?.split('/').at(-1) ?? ''
    if (this.#fault?.methods.test(method)) {
      refuse(stream, this.#fault.fault)
      return
    }
    this.#open.set(stream, method)
    stream.on('close', () => this.#open.delete(stream))
    // Who gave up closes its half; nothing of that is a mistake of the test.
    stream.on('error', () => undefined)
    const { ':authority': _authority, ':scheme': _scheme, ...passed } = headers
    const upstream = this.#upstream.request(passed)
    upstream.on('error', () => stream.destroy())
    stream.on('close', () => upstream.close())
    stream.pipe(upstream)
    upstream.on('response', (answer, flags) => {
      if (stream.headersSent) return
      // With END_STREAM there is nothing but this.
      const only = (flags & 1) === 1
      stream.respond(answer, only ? { endStream: true } : { waitForTrailers: true })
      if (only) return
      const trailers = once(upstream, 'trailers')
      stream.on('wantTrailers', () => void trailers.then(([sent]) => stream.sendTrailers(sent)))
      upstream.pipe(stream)
    })
  }
}

function refuse(stream: ServerHttp2Stream, { code, message }: Fault): void {
  if (stream.headersSent || stream.destroyed) return
  stream.respond(
    {
      ':status': 200,
      'content-type': 'application/grpc',
      'grpc-status': `${code}`,
      'grpc-message': encodeURIComponent(message),
    },
    { endStream: true },
  )
}
