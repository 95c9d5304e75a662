import { NAMESPACES, SYSTEM_NAMESPACES } from '../kinds/namespace.js'
import { isFinished, PODS, type Pod } from '../kinds/pod.js'
import { forbidden, notFound, preconditionFailed, type Status, success } from './api-error.js'
import { type ApiObject, isTerminating, timestamp } from './api-object.js'
import type { DeleteOptions } from './delete-options.js'
import { isReleased } from './registry.js'
import type { Resource } from './resource.js'
import type { Store } from './store.js'

/**
 * Deletes an object, or says when it is to end: a pod on a node ends when its kubelet says so, everything when its
 * finalizers are gone. Answers as the API server does. Throws `ApiError`.
 */
export function deleteObject(
  store: Store,
  resource: Resource,
  namespace: string,
  name: string,
  options: DeleteOptions = {},
): ApiObject | Status {
  const stored = store.find(resource, namespace, name)
  if (stored === undefined) throw notFound(resource, name)
  checkPreconditions(resource, stored, options)
  if (resource === NAMESPACES && SYSTEM_NAMESPACES.includes(name)) {
    throw forbidden(resource, name, 'this namespace may not be deleted')
  }
  const ending = isTerminating(stored)
    ? endingSooner(stored, options.gracePeriodSeconds)
    : ended(stored, graceSecondsOf(resource, stored, options), timestamp())
  const isLast = isReleased(ending)
  const shown = options.dryRun ? ending : written(store, resource, stored, ending)
  // Pods are shown as they last were, other things only named.
  if (!isLast || resource === PODS) return shown
  const { group, plural } = resource
  return success({ name, ...(group === '' ? {} : { group }), kind: plural, uid: stored.metadata.uid })
}

/** A pod is seen to end even when it ends at once; other things are there, and then they are not. */
function written(store: Store, resource: Resource, stored: ApiObject, ending: ApiObject): ApiObject {
  const isLast = isReleased(ending)
  if (isLast && resource !== PODS) return store.remove(resource, stored)
  const seen = ending === stored ? stored : store.put(resource, ending)
  return isLast ? store.remove(resource, seen) : seen
}

function checkPreconditions(
  resource: Resource,
  { metadata: { name, uid, resourceVersion } }: ApiObject,
  { preconditions = {} }: DeleteOptions,
): void {
  if (preconditions.uid !== undefined && preconditions.uid !== uid) {
    const why = `the UID in the precondition (${preconditions.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`
    throw preconditionFailed(resource, name, why)
  }
  const version = preconditions.resourceVersion
  if (version !== undefined && version !== resourceVersion) {
    const why = `the ResourceVersion in the precondition (${version}) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`
    throw preconditionFailed(resource, name, why)
  }
}

/** Only a pod that a kubelet may have started needs time. */
function graceSecondsOf(
  resource: Resource,
  stored: ApiObject,
  { gracePeriodSeconds }: DeleteOptions,
): number {
  if (resource !== PODS) return 0
  const pod = stored as Pod
  if (pod.spec.nodeName === undefined || isFinished(pod)) return 0
  return Math.max(0, gracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 0)
}

function ended(stored: ApiObject, graceSeconds: number, now: string): ApiObject {
  const { metadata } = stored
  const ending: ApiObject = {
    ...stored,
    metadata: {
      ...metadata,
      ...(metadata.generation === undefined ? {} : { generation: metadata.generation + 1 }),
      deletionTimestamp: later(now, graceSeconds),
      deletionGracePeriodSeconds: graceSeconds,
    },
  }
  if (stored.kind !== NAMESPACES.kind) return ending
  const { deletionGracePeriodSeconds, ...rest } = ending.metadata
  return { ...ending, metadata: rest, status: { phase: 'Terminating' } }
}

/** A grace period that runs can be shortened, never lengthened. */
function endingSooner(stored: ApiObject, graceSeconds: number | undefined): ApiObject {
  const { metadata } = stored
  const before = metadata.deletionGracePeriodSeconds ?? 0
  if (graceSeconds === undefined || graceSeconds >= before) return stored
  return {
    ...stored,
    metadata: {
      ...metadata,
      deletionTimestamp: later(metadata.deletionTimestamp ?? timestamp(), graceSeconds - before),
      deletionGracePeriodSeconds: graceSeconds,
    },
  }
}

function later(time: string, seconds: number): string {
  return timestamp(new Date(Date.parse(time) + seconds * 1000))
}
