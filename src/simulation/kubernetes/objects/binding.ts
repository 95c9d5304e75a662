import { PODS, withPodCondition } from '../kinds/pod.js'
import { badRequest, conflict, notFound, type Status, success } from './api-error.js'
import { isTerminating, type JsonObject, partOf } from './api-object.js'
import type { Resource } from './resource.js'
import type { Store } from './store.js'

/** As the server names what it is about in its answer. */
const BINDING: Resource = { ...(PODS as Resource), plural: 'pods/binding' }

/** Puts a pod on a node, once and for all. Throws `ApiError`. */
export function bindPod(store: Store, namespace: string, name: string, body: JsonObject): Status {
  const node = partOf(body, 'target').name
  if (typeof node !== 'string' || node === '') throw badRequest('target.name: Required value')
  const pod = store.find(PODS, namespace, name)
  if (pod === undefined) throw notFound(PODS, name)
  if (isTerminating(pod)) {
    throw conflict(BINDING, name, `pod ${name} is being deleted, cannot be assigned to a host`)
  }
  if (pod.spec.nodeName !== undefined) {
    throw conflict(BINDING, name, `pod ${name} is already assigned to node "${pod.spec.nodeName}"`)
  }
  const bound = { ...pod, spec: { ...pod.spec, nodeName: node } }
  store.put(PODS, withPodCondition(bound, { type: 'PodScheduled', status: 'True' }))
  return success(undefined, 201)
}
