import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { KubernetesAccess } from '../../../src/core/spec.js'

export interface StandIn {
  readonly url: string
  readonly requests: { readonly path: string; readonly headers: IncomingMessage['headers'] }[]
  /** Connections that clients hold open now. */
  connections(): Promise<number>
  stop(): Promise<void>
}

/** A server for what no real API server can show: which connections are open, what exactly was sent. */
export async function standIn(
  answer: (path: string, outgoing: ServerResponse, incoming: IncomingMessage) => void,
): Promise<StandIn> {
  const requests: { path: string; headers: IncomingMessage['headers'] }[] = []
  const server = createServer((incoming, outgoing) => {
    const path = incoming.url ?? ''
    requests.push({ path, headers: incoming.headers })
    answer(path, outgoing, incoming)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    connections: () =>
      new Promise((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

/** Sends JSON as an API server would. */
export function json(outgoing: ServerResponse, body: unknown, status = 200): void {
  outgoing.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

export interface KubeconfigParts {
  server: string
  cluster?: object
  user?: object
}

/** A kubeconfig file with one context, `test`, and the access that names it. */
export async function writeKubeconfig(
  folder: string,
  { server, cluster = {}, user = { token: 'secret-token' } }: KubeconfigParts,
  endpoints: string[] = [],
): Promise<KubernetesAccess & { kind: 'kubeconfig'; path: string }> {
  const path = join(folder, 'kubeconfig')
  const config = {
    'current-context': 'test',
    clusters: [{ name: 'test', cluster: { server, ...cluster } }],
    users: [{ name: 'test', user }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
  }
  await writeFile(path, stringify(config))
  return { kind: 'kubeconfig', path, context: null, endpoints, namespace: 'kube-system' }
}
