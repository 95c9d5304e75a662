import { z } from 'zod'
import type { AttachmentRecord } from '../../core/drain/volumes.js'
import type { PodRecord } from '../../core/pods.js'
import type { KubernetesAccess } from '../../core/spec.js'
import type { Cluster } from '../../ports/cluster.js'
import { KubernetesApi } from './api.js'
import { readBudget } from './budget-record.js'
import { controlPlanePods } from './control-plane-pod.js'
import { etcdReady } from './etcd-ready.js'
import { deletionAnswer, deletionCall, evictionAnswer, evictionCall } from './eviction.js'
import { Mirror } from './mirror.js'
import { NodeCache } from './node-cache.js'
import { nodeEventCall } from './node-event.js'
import { Nodes } from './nodes.js'
import { find, get, list, METADATA } from './objects.js'
import { podRecord, readPod, type WirePod } from './pod-record.js'
import { CLAIM, readAttachment } from './volume-record.js'
import { type LiveWatching, watch } from './watch.js'

const ANY = z.object({ metadata: METADATA })
const IDENTIFIED = z.object({ metadata: METADATA.extend({ uid: z.string().min(1) }) })

/** A drain's slow poll: pods that a dead watch did not tell of are seen after this long. */
const LIST_PODS_EVERY_SECONDS = 20

/** A cluster whose watches also tell how long they have been silent. */
export interface KubernetesCluster extends Cluster {
  watchNodes(onNodes: (names: readonly string[]) => void, fieldName: string | null): LiveWatching
  /** Ends what goes on without being asked for: the watch behind `recentNodes`. The next call begins it again. */
  close(): void
}

/**
 * The `Cluster` port on a real API server. Nothing is read before the first call, so a broken kubeconfig is a
 * `PortError` of that call. Pass `api` to share its connections with `kubernetesRecords`.
 */
export function kubernetesCluster(
  access: KubernetesAccess,
  api: KubernetesApi = new KubernetesApi(access),
): KubernetesCluster {
  const cache = new NodeCache(api)
  const nodes = new Nodes(api, cache)
  // One for all drains of a worker: they cannot be asked for by node.
  const attachments = new Mirror<AttachmentRecord, AttachmentRecord>(api, {
    what: 'the volume attachments',
    path: '/apis/storage.k8s.io/v1/volumeattachments',
    query: {},
    read: readAttachment,
    made: (one) => one,
    listEverySeconds: null,
  })
  return {
    identity: async (signal) => {
      const doing = 'read the cluster’s identity'
      const found = await get(api, '/api/v1/namespaces/kube-system', IDENTIFIED, doing, signal)
      return found.metadata.uid
    },
    nodes: (signal) => cache.now(signal),
    recentNodes: (signal) => cache.recent(signal),
    watchRecentNodes: (onChange) => cache.onChange(onChange),
    close: () => cache.close(),
    node: (name, signal) => nodes.one(name, signal),
    patchNode: (name, resourceVersion, change, signal) => nodes.patch(name, resourceVersion, change, signal),
    watchNodes: (onNodes, fieldName) => {
      const query = fieldName === null ? {} : { fieldSelector: `metadata.name=${fieldName}` }
      return watch(api, { what: 'the nodes', path: '/api/v1/nodes', query }, onNodes)
    },

    podsOn: async (nodeName, signal) => {
      const call = { doing: `list the pods on ${nodeName}`, ...podsOn(nodeName) }
      const { items, dateMs } = await list(api, call, readPod, signal)
      return items.map((pod) => podRecord(pod, dateMs ?? Date.now()))
    },
    keepPodsOn: (nodeName, onChange) =>
      new Mirror<WirePod, PodRecord>(api, {
        what: `the pods on ${nodeName}`,
        ...podsOn(nodeName),
        read: readPod,
        made: podRecord,
        listEverySeconds: LIST_PODS_EVERY_SECONDS,
      }).open(onChange),
    daemonSetExists: async (namespace, name, signal) => {
      const path = `/apis/apps/v1/namespaces/${encodeURIComponent(namespace)}/daemonsets/${encodeURIComponent(name)}`
      return (await find(api, path, ANY, `read DaemonSet ${namespace}/${name}`, signal)) !== null
    },
    evict: async (pod, graceSeconds, signal) =>
      evictionAnswer(await api.call(evictionCall(pod, graceSeconds), signal), pod),
    deletePod: async (pod, tryOnly, signal) =>
      deletionAnswer(await api.call(deletionCall(pod, tryOnly), signal), pod),
    budgets: async (namespace, signal) => {
      const within = namespace === null ? '' : `/namespaces/${encodeURIComponent(namespace)}`
      const path = `/apis/policy/v1${within}/poddisruptionbudgets`
      const call = { doing: `list the disruption budgets of ${namespace ?? 'the cluster'}`, path }
      return (await list(api, call, readBudget, signal)).items
    },
    keepVolumeAttachments: (onChange) => attachments.open(onChange),
    volumeOfClaim: async (namespace, name, signal) => {
      const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/persistentvolumeclaims/${encodeURIComponent(name)}`
      const claim = await find(api, path, CLAIM, `read claim ${namespace}/${name}`, signal)
      return claim?.spec?.volumeName || null
    },

    controlPlanePods: (signal) => controlPlanePods(api, signal),
    etcdReady: (signal) => etcdReady(api, signal),
    nodeEvent: async (node, type, reason, message) => {
      const call = nodeEventCall(node, type, reason, message)
      // An event is told, not kept: a cluster that takes none must not stop a rollout.
      await api.call(call, new AbortController().signal).catch(() => undefined)
    },
  }
}

function podsOn(nodeName: string) {
  return { path: '/api/v1/pods', query: { fieldSelector: `spec.nodeName=${nodeName}` } }
}
