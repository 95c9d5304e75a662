import { createServer as createHttpServer, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type Handler, sendJson } from '../cloud-server.js'
import type { Certificate } from '../kubernetes/certificate.js'

/** HTTPS on 127.0.0.1 for ARM, or plain HTTP for the identity endpoint; can be closed under open connections. */
export class ArmServer {
  readonly #handler: Handler
  readonly #certificate: Certificate | null
  #server: Server | null = null

  constructor(handler: Handler, certificate: Certificate | null) {
    this.#handler = handler
    this.#certificate = certificate
  }

  /** Port 0: a free one. Gives the URL. */
  async start(port: number): Promise<string> {
    const listener = (request: Parameters<Handler>[0], response: Parameters<Handler>[1]) => {
      this.#handler(request, response).catch((error: unknown) => {
        if (response.headersSent) response.destroy()
        else sendJson(response, 500, { error: { code: 'SimulationFault', message: String(error) } })
      })
    }
    const server =
      this.#certificate === null
        ? createHttpServer(listener)
        : createHttpsServer({ cert: this.#certificate.cert, key: this.#certificate.key }, listener)
    // Closed under a client that is about to use it, a connection looks like a lost answer.
    server.keepAliveTimeout = 60_000
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', resolve)
    })
    this.#server = server
    const scheme = this.#certificate === null ? 'http' : 'https'
    return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    const server = this.#server
    if (server === null) return
    this.#server = null
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    server.closeAllConnections()
    await closed
  }
}
