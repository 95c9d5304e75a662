import { KubeConfig } from '@kubernetes/client-node'
import type { KubernetesAccess } from '../../core/spec.js'
import { PortError } from '../../ports/errors.js'

/** What client-node falls back to when it finds no configuration at all. */
const NOTHING_FOUND = 'http://localhost:8080'

/**
 * The kubeconfig that an access names, with its context chosen. Throws `PortError` `refused` with what to mend when it
 * is missing, broken, or would talk to a server that is not verified.
 */
export function loadKubeConfig(access: KubernetesAccess): KubeConfig {
  const config = access.kind === 'inCluster' ? loadInCluster() : loadFile(access.path)
  if (access.kind === 'kubeconfig' && access.context !== null) {
    if (config.getContextObject(access.context) === null) {
      throw refused(`${nameOf(access.path)} has no context ${access.context}`)
    }
    config.setCurrentContext(access.context)
  }
  const cluster = config.getCurrentCluster()
  if (cluster === null) throw refused('The kubeconfig names no current context with a cluster')
  if (config.getCurrentUser() === null) throw refused(`The context ${config.currentContext} has no user`)
  checkServer(cluster.server)
  if (isPlainHttp(cluster.server)) {
    // There is no TLS to verify; without this the client refuses plain HTTP even to this machine.
    config.clusters = config.clusters.map((one) =>
      one.name === cluster.name ? { ...one, skipTLSVerify: true } : one,
    )
  } else if (cluster.skipTLSVerify === true) {
    throw refused(
      `The cluster ${cluster.name} sets insecure-skip-tls-verify, and noderoll always verifies: ` +
        'give it certificate-authority instead',
    )
  }
  return config
}

/** Refuses an API server's address that is no URL or would carry credentials in the clear. */
export function checkServer(server: string): void {
  const url = URL.canParse(server) ? new URL(server) : null
  if (url === null || !['https:', 'http:'].includes(url.protocol)) {
    throw refused(`${JSON.stringify(server)} is not the URL of an API server`)
  }
  if (url.username !== '' || url.password !== '') {
    throw refused(`The address of ${url.host} holds a user or password: credentials belong in the kubeconfig`)
  }
  if (isPlainHttp(server) && !isThisMachine(url.hostname)) {
    throw refused(
      `${url.host} would be reached over plain HTTP, with credentials readable on the way: use https`,
    )
  }
}

function isPlainHttp(server: string): boolean {
  return server.startsWith('http:')
}

function isThisMachine(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)
}

function loadInCluster(): KubeConfig {
  if (!process.env.KUBERNETES_SERVICE_HOST) {
    throw refused(
      'The spec says inCluster, but this worker does not run in a pod (KUBERNETES_SERVICE_HOST is not set)',
    )
  }
  const config = new KubeConfig()
  config.loadFromCluster()
  return config
}

function loadFile(path: string | null): KubeConfig {
  const config = new KubeConfig()
  try {
    if (path === null) config.loadFromDefault()
    else config.loadFromFile(path)
  } catch (error) {
    // The parser's own message quotes lines of the file, and those may be a token.
    throw refused(
      `${nameOf(path)} ${isFileError(error) ? `cannot be read (${error.code})` : 'is not a kubeconfig'}`,
    )
  }
  if (path === null && config.getCurrentCluster()?.server === NOTHING_FOUND && !process.env.KUBECONFIG) {
    throw refused('There is no kubeconfig: neither KUBECONFIG nor ~/.kube/config nor a pod’s service account')
  }
  return config
}

function nameOf(path: string | null): string {
  return `The kubeconfig ${path ?? process.env.KUBECONFIG ?? '~/.kube/config'}`
}

function isFileError(error: unknown): error is Error & { code: string } {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
}

function refused(what: string): PortError {
  return new PortError('refused', `${what}.`, { notAllowed: true })
}
