import { createServer, type ServerResponse } from 'node:http'
import { NoderollError } from '../client/noderoll-error.js'

export interface Health {
  close(): Promise<void>
}

/**
 * `/healthz`: this process is alive. `/readyz`: it works on its task queue; else 503 with the reason. `whyNotReady` is
 * asked at each call.
 */
export async function startHealth(port: number, whyNotReady: () => Promise<string | null>): Promise<Health> {
  const server = createServer((request, response) => {
    switch (request.url) {
      case '/healthz':
        return answer(response, 200, 'alive')
      case '/readyz':
        return void whyNotReady().then(
          (why) => answer(response, why === null ? 200 : 503, why ?? 'ready'),
          (error: unknown) => answer(response, 503, String(error)),
        )
      default:
        return answer(response, 404, 'there are /healthz and /readyz')
    }
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      const message = `NODEROLL_HEALTH_PORT ${port} cannot be used: ${error.message}`
      reject(new NoderollError('usage', message, { cause: error }))
    })
    server.listen(port, resolve)
  })
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`)
}
