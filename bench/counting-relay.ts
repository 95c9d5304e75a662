import type { AddressInfo } from 'node:net'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** Passes connections on as they are, encrypted or not, and counts what comes back. */
export class CountingRelay {
  bytesReceived = 0
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(target: URL) {
    this.#server = createServer((client) => {
      const upstream = connect(Number(target.port), target.hostname)
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket)
        socket.once('close', () => this.#sockets.delete(socket))
      }
      upstream.on('data', (chunk) => {
        this.bytesReceived += chunk.length
      })
      client.pipe(upstream).pipe(client)
      client.on('error', () => upstream.destroy())
      upstream.on('error', () => client.destroy())
    })
  }

  static async start(target: string): Promise<CountingRelay> {
    const relay = new CountingRelay(new URL(target))
    await new Promise<void>((resolve) => relay.#server.listen(0, '127.0.0.1', resolve))
    return relay
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  stop(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }
}
