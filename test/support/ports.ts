import { createServer } from 'node:net'

const handedOut = new Set<number>()

/**
 * A free port of 127.0.0.1 below the range from which the kernel picks ports of outgoing connections, so that nobody
 * takes it while the server that shall listen there starts or restarts.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    if (handedOut.has(port) || !(await isFree(port))) continue
    handedOut.add(port)
    return port
  }
  throw new Error('no free port between 20000 and 32000')
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}
