import { hostname } from 'node:os'
import type { PodPlace } from '../../core/self-hosting.js'

/**
 * Who a worker is to Temporal, shown by `temporal task-queue describe` and on every event: the process, and in Kubernetes
 * its pod and node, by which a rollout knows what it stands on.
 */
export function workerIdentity(place: PodPlace | null): string {
  const process_ = `${process.pid}@${hostname()}`
  return place === null ? process_ : `${process_} pod=${place.namespace}/${place.pod} node=${place.node}`
}

/** The place in such an identity; null where it has none. */
export function placeIn(identity: string): PodPlace | null {
  const found = / pod=([^/\s]+)\/(\S+) node=(\S+)$/.exec(identity)
  const [, namespace, pod, node] = found ?? []
  return namespace === undefined || pod === undefined || node === undefined ? null : { namespace, pod, node }
}
