import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Talk {
  readonly from: number
  readonly to: number
  destroy(): void
}

/**
 * The network between the members of an etcd, whose peer URLs have names that only this knows: each member reaches the
 * others through an HTTP proxy of its own. It can cut one off from the others.
 */
export class PeerNetwork {
  readonly #ports = new Map<number, number>()
  readonly #proxies = new Map<number, Server>()
  readonly #talks = new Set<Talk>()
  readonly #cut = new Set<number>()

  /** The peer URL of a member that listens on this port of 127.0.0.1 (1 is the first), and what it is to be started with. */
  async join(number: number, port: number): Promise<{ url: string; env: Record<string, string> }> {
    const server = createServer((asked, answer) => this.#pass(number, asked, answer))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    server.unref()
    this.#ports.set(number, port)
    this.#proxies.set(number, server)
    const proxy = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return { url: `http://etcd-${number}.peers.test:${port}`, env: { HTTP_PROXY: proxy } }
  }

  /** The other members neither hear this one nor are heard; its clients reach it. */
  cutOff(number: number): void {
    this.#cut.add(number)
    for (const talk of this.#talks) if (talk.from === number || talk.to === number) talk.destroy()
  }

  mend(): void {
    this.#cut.clear()
  }

  close(): void {
    for (const talk of this.#talks) talk.destroy()
    for (const server of this.#proxies.values()) {
      server.close()
      server.closeAllConnections()
    }
  }

  #pass(from: number, asked: IncomingMessage, answer: ServerResponse): void {
    const url = new URL(asked.url ?? '')
    const to = Number(/^etcd-(\d+)\./.exec(url.hostname)?.[1])
    if (this.#cut.has(from) || this.#cut.has(to)) {
      asked.socket.destroy()
      return
    }
    const passed = request({
      host: '127.0.0.1',
      port: this.#ports.get(to),
      path: url.pathname + url.search,
      method: asked.method,
      headers: asked.headers,
      agent: false,
    })
    const destroy = () => {
      passed.destroy()
      asked.socket.destroy()
    }
    const talk: Talk = { from, to, destroy }
    this.#talks.add(talk)
    passed.on('response', (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers)
      answer.flushHeaders()
      response.on('error', destroy)
      response.pipe(answer)
    })
    passed.on('error', () => asked.socket.destroy())
    passed.on('close', () => this.#talks.delete(talk))
    asked.on('error', () => undefined)
    answer.on('error', () => undefined)
    answer.on('close', () => passed.destroy())
    asked.pipe(passed)
  }
}
