import type https from 'node:https'
import type { KubeConfig } from '@kubernetes/client-node'
import { Agent, type Dispatcher, ProxyAgent } from 'undici'
import type { KubernetesAccess } from '../../core/spec.js'
import { answerWithin, DeadlineError } from '../../ports/deadline.js'
import { PortError } from '../../ports/errors.js'
import { checkServer, loadKubeConfig } from './kubeconfig.js'
import { PATIENCE_MS } from './patience.js'

/** Everything a request needs besides its path. */
export interface Session {
  /** Base URLs of the API servers, the kubeconfig's own first. */
  readonly servers: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly dispatcher: Dispatcher
}

type Tls = Pick<https.RequestOptions, 'ca' | 'cert' | 'key' | 'passphrase' | 'servername'>

/** Slightly below the idle limit of common load balancers, so that a write rarely meets a connection just closed. */
const KEEP_ALIVE_MS = 20_000

/** Nobody waits longer for a plugin: it is left alone, and the next request starts another. */
const PLUGIN_MS = 30_000

/**
 * What the kubeconfig says, as client-node reads it: CA, token, client certificate, exec plugin. The connections are
 * ours: client-node makes a new agent, and so a new TLS handshake, for every single request.
 */
export class Credentials {
  readonly #access: KubernetesAccess
  #config: KubeConfig | null = null
  #isStale = false
  #connections: { readonly key: string; readonly dispatcher: Dispatcher } | null = null
  #underWay: Promise<Session> | null = null

  constructor(access: KubernetesAccess) {
    this.#access = access
  }

  /** Fresh for every request: tokens expire. Simultaneous requests share one run of an exec plugin. */
  session(): Promise<Session> {
    this.#underWay ??= this.#apply().finally(() => {
      this.#underWay = null
    })
    return this.#underWay
  }

  /** Reads the kubeconfig and asks the exec plugin again next time: what we have is no longer accepted. */
  forget(): void {
    this.#isStale = true
  }

  async close(): Promise<void> {
    const connections = this.#connections
    this.#connections = null
    await connections?.dispatcher.destroy()
  }

  async #apply(): Promise<Session> {
    const config = this.#load()
    const cluster = config.getCurrentCluster()
    if (cluster === null)
      throw new PortError('refused', 'The kubeconfig names no cluster.', { notAllowed: true })
    const options: https.RequestOptions = {}
    await ask(config, options)
    for (const endpoint of this.#access.endpoints) checkServer(endpoint)
    return {
      servers: [...new Set([cluster.server, ...this.#access.endpoints].map(withoutSlash))],
      headers: textHeaders(options.headers),
      dispatcher: this.#dispatcher(options, cluster.proxyUrl ?? null),
    }
  }

  /** One that has been understood before may be half written now, and read again later. */
  #load(): KubeConfig {
    if (this.#config !== null && !this.#isStale) return this.#config
    try {
      this.#config = loadKubeConfig(this.#access)
    } catch (error) {
      if (this.#config === null || !(error instanceof PortError)) throw error
      throw new PortError('unreachable', error.message, { cause: error })
    }
    this.#isStale = false
    return this.#config
  }

  #dispatcher({ ca, cert, key, passphrase, servername }: Tls, proxyUrl: string | null): Dispatcher {
    const tls = { ca, cert, key, passphrase, servername }
    const material = JSON.stringify([proxyUrl, ...Object.values(tls).map((part) => part?.toString() ?? null)])
    if (this.#connections?.key === material) return this.#connections.dispatcher
    // Old connections end by themselves when what still runs over them is done.
    void this.#connections?.dispatcher.close()
    const dispatcher = makeDispatcher(tls, proxyUrl)
    this.#connections = { key: material, dispatcher }
    return dispatcher
  }
}

/**
 * Puts the credentials into `options`. A plugin or file that gives none now may do so later: what a plugin asks for a token
 * can be out for a moment. Throws `PortError` `unreachable` then, without what it printed: that may be a credential.
 */
async function ask(config: KubeConfig, options: https.RequestOptions): Promise<void> {
  const command = config.getCurrentUser()?.exec?.command
  const source = `${command ? `The plugin ${command}` : 'A file'} named by the kubeconfig`
  try {
    // Shared by everybody who asks meanwhile, so that no single caller's end may end it.
    await answerWithin(PLUGIN_MS, new AbortController().signal, () => config.applyToHTTPSOptions(options))
  } catch (error) {
    const hangs = error instanceof DeadlineError
    const what = hangs ? `has not ended after ${PLUGIN_MS / 1000} s` : 'gave no credentials'
    throw new PortError('unreachable', `${source} ${what}: try it by hand.`)
  }
}

function makeDispatcher(tls: { [K in keyof Tls]: Tls[K] | undefined }, proxyUrl: string | null): Dispatcher {
  const given = Object.fromEntries(Object.entries(tls).filter(([, part]) => part !== undefined))
  // Said explicitly, since NODE_TLS_REJECT_UNAUTHORIZED=0 in a worker's environment would win otherwise.
  const connect = { ...given, rejectUnauthorized: true, timeout: PATIENCE_MS }
  // Our own deadlines end a request; a quiet watch must not be cut by undici's.
  const limits = { headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: KEEP_ALIVE_MS }
  if (proxyUrl === null) return new Agent({ ...limits, connect })
  if (!/^https?:/.test(proxyUrl)) {
    throw new PortError(
      'refused',
      'The proxy-url of the kubeconfig is not supported: only http and https are.',
      { notAllowed: true },
    )
  }
  return new ProxyAgent({ ...limits, uri: proxyUrl, requestTls: connect, connect: { timeout: PATIENCE_MS } })
}

function textHeaders(headers: https.RequestOptions['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name, String(value)]))
}

function withoutSlash(server: string): string {
  return server.replace(/\/+$/, '')
}
