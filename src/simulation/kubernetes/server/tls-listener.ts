import type { RequestListener } from 'node:http'
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Certificate } from '../certificate.js'
import type { Gate } from './gate.js'

const HOST = '127.0.0.1'
/** Longer than clients keep a quiet connection: one that is closed under a request looks like a lost answer. */
const KEEP_ALIVE_MS = 90_000
const NOTICE_MS = 20

/**
 * HTTPS on one port of this machine. With the gate shut it is as if the process had been stopped: connections are
 * accepted, and nothing comes back, not even the beginning of TLS.
 */
export class TlsListener {
  readonly #https: HttpsServer
  readonly #gate: Gate
  readonly #sockets = new Set<Socket>()
  readonly #waiting = new Set<Socket>()
  #server: Server | null = null
  #port: number

  constructor(certificate: Certificate, gate: Gate, port: number, handler: RequestListener) {
    this.#port = port
    this.#gate = gate
    this.#https = createHttpsServer(certificate, handler)
    this.#https.keepAliveTimeout = KEEP_ALIVE_MS
    this.#https.requestTimeout = 0
    // Who speaks something else than TLS, or hangs up in the middle of it, has only himself to blame.
    this.#https.on('tlsClientError', () => undefined)
    gate.onOpen(() => this.#greetAll())
  }

  get url(): string {
    return `https://${HOST}:${this.#port}`
  }

  async start(): Promise<void> {
    const server = createServer((socket) => this.#connected(socket))
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(this.#port, HOST, resolve)
    })
    this.#port = (server.address() as AddressInfo).port
    this.#server = server
  }

  /** Connections break, and new ones are refused until `start`. */
  async stop(): Promise<void> {
    const server = this.#server
    if (server === null) return
    this.#server = null
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    for (const socket of this.#sockets) socket.destroy()
    await closed
    // Clients in this very process have to notice, as they would before another process had ended.
    await sleep(NOTICE_MS)
  }

  #connected(socket: Socket): void {
    this.#sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.#sockets.delete(socket)
      this.#waiting.delete(socket)
    })
    if (this.#gate.isOpen) this.#https.emit('connection', socket)
    else this.#waiting.add(socket)
  }

  #greetAll(): void {
    for (const socket of this.#waiting) this.#https.emit('connection', socket)
    this.#waiting.clear()
  }
}
