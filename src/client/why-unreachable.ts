import { connect } from 'node:net'

const PATIENCE_MS = 2_000
const DEFAULT_PORT = 7233

/**
 * Why nothing can be heard from an address, in words: gRPC keeps on trying and says only that time is up. Null when
 * something listens there, or nobody can tell.
 */
export function whyUnreachable(address: string): Promise<string | null> {
  const { host, port } = split(address)
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: PATIENCE_MS })
    const end = (why: string | null) => {
      socket.destroy()
      resolve(why)
    }
    socket.once('connect', () => end(null))
    socket.once('timeout', () => end('it does not answer'))
    socket.once('error', (error) => end(sayError(error)))
  })
}

function sayError(error: Error): string {
  const { code } = error as NodeJS.ErrnoException
  switch (code) {
    case 'ECONNREFUSED':
      return 'nothing listens there'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'there is no host of that name'
    default:
      return code ?? error.message
  }
}

function split(address: string): { host: string; port: number } {
  const [, host = address, port] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(address) ?? []
  return { host, port: port === undefined ? DEFAULT_PORT : Number(port) }
}
