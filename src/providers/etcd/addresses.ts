import type { Cluster, ControlPlanePod } from '../../ports/cluster.js'
import { PortError } from '../../ports/errors.js'
import { oneLine, type Said } from './ask.js'
import type { Address } from './schema.js'

/** Where members, or API servers, are found: read anew for every look. Never throws but `signal`'s reason. */
export type Addresses = (signal: AbortSignal) => Promise<Said<readonly Address[]>>

/** What the spec says. */
export function named(list: readonly string[]): Addresses {
  const addresses = list.map((one) => {
    const at = one.indexOf('=')
    return { name: one.slice(0, at), url: withoutSlash(one.slice(at + 1)) }
  })
  return async () => ({ answer: addresses })
}

type Finds = (pod: ControlPlanePod) => Said<string>

/** Client URLs of stacked members, as kubeadm notes them on their static pods. */
export function memberPods(cluster: Pick<Cluster, 'controlPlanePods'>): Addresses {
  return ofPods(cluster, 'etcd', 'etcd.members', clientUrl)
}

/** Their metrics URLs, as their static pods are told to serve them. */
export function metricsPods(cluster: Pick<Cluster, 'controlPlanePods'>): Addresses {
  return ofPods(cluster, 'etcd', 'etcd.members', metricsUrl)
}

/** The API server of each control node, as kubeadm notes it on its static pod. */
export function apiServerPods(cluster: Pick<Cluster, 'controlPlanePods'>): Addresses {
  return ofPods(cluster, 'kube-apiserver', 'etcd.apiServers', (pod) => {
    const endpoint = pod.annotations['kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint']
    return endpoint === undefined ? { why: 'does not say its endpoint' } : { answer: `https://${endpoint}` }
  })
}

/** Of all or of none: a member that is left out makes quorum look better than it is. */
function ofPods(
  cluster: Pick<Cluster, 'controlPlanePods'>,
  component: string,
  field: string,
  find: Finds,
): Addresses {
  return async (signal) => {
    const pods = await podsOf(cluster, component, signal)
    if ('why' in pods) return pods
    const found: Address[] = []
    for (const pod of pods.answer) {
      const url = find(pod)
      if ('why' in url) return { why: `static pod ${pod.name} ${url.why}; name its address in ${field}` }
      found.push({ name: pod.node, url: withoutSlash(url.answer) })
    }
    return found.length === 0
      ? { why: `kube-system has no static pods of ${component} like those of kubeadm; write ${field}` }
      : { answer: found }
  }
}

async function podsOf(
  cluster: Pick<Cluster, 'controlPlanePods'>,
  component: string,
  signal: AbortSignal,
): Promise<Said<ControlPlanePod[]>> {
  try {
    const pods = await cluster.controlPlanePods(signal)
    return { answer: pods.filter((pod) => pod.component === component) }
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof PortError)) throw error
    return { why: oneLine(error.message) }
  }
}

function clientUrl(pod: ControlPlanePod): Said<string> {
  const noted = pod.annotations['kubeadm.kubernetes.io/etcd.advertise-client-urls']
  const [url] = (noted ?? option(pod, 'advertise-client-urls')).split(',')
  return url === undefined || url === '' ? { why: 'does not say its client URL' } : { answer: url }
}

/** kubeadm has etcd serve its metrics to the node itself only, unless told otherwise. */
function metricsUrl(pod: ControlPlanePod): Said<string> {
  const served = option(pod, 'listen-metrics-urls')
    .split(',')
    .filter((url) => URL.canParse(url))
  const url = served.map((one) => new URL(one)).find(({ hostname }) => !isLoopback(hostname))
  if (url === undefined) return { why: 'serves its metrics to its own node only (listen-metrics-urls)' }
  if (url.hostname !== '0.0.0.0' && url.hostname !== '[::]') return { answer: url.href }
  const client = clientUrl(pod)
  if ('why' in client) return client
  url.hostname = new URL(client.answer).hostname
  return { answer: url.href }
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.')
}

function option({ command }: ControlPlanePod, name: string): string {
  const start = `--${name}=`
  return command.find((one) => one.startsWith(start))?.slice(start.length) ?? ''
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, '')
}
