import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

const BODY_LIMIT = 1_000_000

/** An HTTP server on 127.0.0.1 that can be closed under open connections. */
export class LocalServer {
  readonly #server: Server

  constructor(handler: Handler) {
    this.#server = createServer((request, response) => {
      handler(request, response).catch((error: unknown) => {
        if (response.headersSent) response.destroy()
        else sendJson(response, 500, { code: 'SimulationFault', message: String(error) })
      })
    })
    // Keep-alive connections must not be closed under a client that is about to use them: that looks like a lost answer.
    this.#server.keepAliveTimeout = 60_000
  }

  /** Starts on a free port unless told which, and gives the URL. */
  async start(port: number): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, '127.0.0.1', resolve)
    })
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
  }
}

/** The body of a request as JSON; undefined when there is none or it is no JSON. */
export async function jsonBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > BODY_LIMIT) throw new Error(`a body of more than ${BODY_LIMIT} bytes`)
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString())
  } catch {
    return undefined
  }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = typeof body === 'string'
  response.writeHead(status, { 'content-type': text ? 'text/plain' : 'application/json', ...headers })
  response.end(text ? body : JSON.stringify(body))
}
