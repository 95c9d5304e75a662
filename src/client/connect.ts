import { Client, Connection } from '@temporalio/client'
import type { ConnectionSettings } from './connection-settings.js'
import { NoderollError } from './noderoll-error.js'
import { shutOut } from './service-error.js'
import { whyUnreachable } from './why-unreachable.js'

const CONNECT_MS = 5_000

/** A client for the settings' namespace; close its connection when done. Throws `unreachable`, in a second where it can, or `denied`. */
export async function connectClient(settings: ConnectionSettings): Promise<Client> {
  const connection = Connection.lazy({ ...settings.connectionOptions, connectTimeout: CONNECT_MS })
  try {
    await Promise.race([connection.ensureConnected(), refusal(settings.address.value)])
  } catch (error) {
    await connection.close()
    throw await cannotReach(settings, error)
  }
  return new Client({ connection, namespace: settings.namespace.value })
}

/** `Cannot reach Temporal at …` with the reason, where the address came from and what to do. */
export async function cannotReach(settings: ConnectionSettings, cause: unknown): Promise<NoderollError> {
  const shut = shutOut(cause)
  if (shut !== null) return shut
  const { value, from } = settings.address
  const why = await whyUnreachable(value)
  const said =
    why === null
      ? 'something listens there, but does not answer as Temporal; check the address and TLS'
      : `${why}; start it, or correct the address`
  return new NoderollError('unreachable', `cannot reach Temporal at ${value} (${from}): ${said}`, { cause })
}

/** Rejects when nothing can be listening there; gRPC would go on trying until its time is up. */
async function refusal(address: string): Promise<never> {
  const why = mayUseProxy() ? null : await whyUnreachable(address)
  if (why !== null) throw new Error(why)
  return new Promise<never>(() => undefined)
}

/** Behind a proxy of gRPC's own a direct connection proves nothing. */
function mayUseProxy(): boolean {
  return ['grpc_proxy', 'https_proxy', 'http_proxy'].some((name) => (process.env[name] ?? '') !== '')
}
