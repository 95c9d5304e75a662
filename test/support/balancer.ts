import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A TCP load balancer on 127.0.0.1, as stands before the API servers of a real control plane: to the first that listens. */
export class Balancer {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(ports: readonly number[]) {
    this.#server = createServer((client) => {
      this.#keep(client)
      void this.#toFirst(client, ports)
    })
  }

  static async start(ports: readonly number[]): Promise<Balancer> {
    const balancer = new Balancer(ports)
    balancer.#server.listen(0, '127.0.0.1')
    await once(balancer.#server, 'listening')
    balancer.#server.unref()
    return balancer
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  async #toFirst(client: Socket, ports: readonly number[]): Promise<void> {
    for (const port of ports) {
      const server = connect({ port, host: '127.0.0.1' })
      this.#keep(server)
      try {
        await once(server, 'connect')
      } catch {
        continue
      }
      client.pipe(server).pipe(client)
      client.once('close', () => server.destroy())
      server.once('close', () => client.destroy())
      return
    }
    client.destroy()
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket)
    socket.unref()
    // Whoever hung up first, the other side is told by its own close.
    socket.on('error', () => socket.destroy())
    socket.once('close', () => this.#sockets.delete(socket))
  }
}
