import { PODS } from '../kinds/pod.js'
import {
  ApiError,
  badRequest,
  conflict,
  DecodeError,
  methodNotAllowed,
  type Status,
} from '../objects/api-error.js'
import { type ApiObject, isJsonObject, type JsonObject, partOf } from '../objects/api-object.js'
import { bindPod } from '../objects/binding.js'
import { type DeleteOptions, readDeleteOptions } from '../objects/delete-options.js'
import { deleteObject } from '../objects/deletion.js'
import { evictPod } from '../objects/eviction.js'
import { checkNamespace } from '../objects/namespace-lifecycle.js'
import type { Registry, UpdateOptions } from '../objects/registry.js'
import type { Resource } from '../objects/resource.js'
import { keyOfObject } from '../objects/store.js'
import { readPatch } from '../patches/patch.js'
import { isDryRun, numberIn, type ResourceRequest } from './api-request.js'
import { selectorIn } from './list.js'

/** The body of a request, as it came. */
export interface Body {
  readonly contentType: string
  readonly text: string
}

export interface Written {
  readonly code: 200 | 201
  readonly object: ApiObject | Status
}

/** Throws `ApiError`, and the reason of `life` when that ends before there is an answer. */
export async function handleCreate(
  registry: Registry,
  request: ResourceRequest,
  body: Body,
  life: AbortSignal,
): Promise<Written> {
  const { resource, namespace, name, subresource, query } = request
  const { store } = registry
  const dryRun = isDryRun(query)
  if (subresource === '') {
    if (name !== '') throw methodNotAllowed()
    const object = registry.create(resource, inNamespace(request), objectIn(body, resource.kind), { dryRun })
    return { code: 201, object }
  }
  if (resource !== PODS) throw methodNotAllowed()
  checkNamespace(store, resource, { name, namespace })
  if (subresource === 'eviction') {
    const eviction = objectIn(body, 'Eviction')
    const object = await evictPod(store, { namespace, name, eviction, dryRun }, life)
    return { code: 201, object }
  }
  return { code: 201, object: bindPod(store, namespace, name, objectIn(body, 'Binding')) }
}

export function handleUpdate(registry: Registry, request: ResourceRequest, body: Body): Written {
  const { resource, name } = request
  const given = objectIn(body, resource.kind)
  const options = { ...updateOptions(request), replaces: true }
  const created = () => createdByUpdate(resource, name, given)
  return createdInstead(registry, request, created, resource.createOnUpdate, () =>
    registry.update(resource, inNamespace(request), name, () => given, options),
  )
}

export function handlePatch(registry: Registry, request: ResourceRequest, body: Body): Written {
  const { resource, name, query } = request
  const patch = readPatch(body.contentType, body.text)
  if (patch.mayCreate && !query.get('fieldManager')) {
    const message = 'Required value: is required for apply patch'
    throw new ApiError(422, 'Invalid', `PatchOptions.meta.k8s.io "" is invalid: fieldManager: ${message}`, {
      group: 'meta.k8s.io',
      kind: 'PatchOptions',
      causes: [{ reason: 'FieldValueRequired', message, field: 'fieldManager' }],
    })
  }
  const change = (stored: ApiObject) => patch.apply(stored as unknown as JsonObject)
  try {
    return createdInstead(
      registry,
      request,
      () => patch.apply({}),
      patch.mayCreate,
      () => registry.update(resource, inNamespace(request), name, change, updateOptions(request)),
    )
  } catch (error) {
    throw error instanceof DecodeError ? error.inPatch() : error
  }
}

export function handleDelete(registry: Registry, request: ResourceRequest, body: Body): Written {
  const { resource, name } = request
  const options = deleteOptionsIn(request, body)
  return { code: 200, object: deleteObject(registry.store, resource, inNamespace(request), name, options) }
}

/** All that a selector matches, each as if it were deleted alone. Gives what there was. */
export function handleDeleteCollection(
  { store }: Registry,
  request: ResourceRequest,
  body: Body,
): readonly ApiObject[] {
  const { resource, namespace } = request
  if (resource.namespaced && namespace === '') throw methodNotAllowed()
  const options = deleteOptionsIn(request, body)
  const objects = store.list(resource).filter(selectorIn(request))
  objects.sort((a, b) => (keyOfObject(a) < keyOfObject(b) ? -1 : 1))
  for (const { metadata } of objects) {
    deleteObject(store, resource, metadata.namespace ?? '', metadata.name, options)
  }
  return objects
}

/** A namespace is in itself as far as rules go, but not where it is kept. */
export function inNamespace({ resource, namespace }: ResourceRequest): string {
  return resource.namespaced ? namespace : ''
}

function createdInstead(
  registry: Registry,
  request: ResourceRequest,
  given: () => JsonObject,
  mayCreate: boolean,
  update: () => ApiObject,
): Written {
  const { resource, name } = request
  const namespace = inNamespace(request)
  if (!mayCreate || registry.store.find(resource, namespace, name) !== undefined) {
    return { code: 200, object: update() }
  }
  return {
    code: 201,
    object: registry.create(resource, namespace, given(), { dryRun: isDryRun(request.query) }),
  }
}

/** Who says a UID means an object that was there. The version alone says nothing. */
function createdByUpdate(resource: Resource, name: string, given: JsonObject): JsonObject {
  const { uid, resourceVersion: _, ...metadata } = partOf(given, 'metadata')
  if (uid) {
    throw conflict(resource, name, `Precondition failed: UID in precondition: ${uid}, UID in object meta: `)
  }
  return { ...given, metadata }
}

function updateOptions({ subresource, query }: ResourceRequest): UpdateOptions {
  return { status: subresource === 'status', dryRun: isDryRun(query) }
}

/** With a body, what the query says does not count. */
function deleteOptionsIn({ query }: ResourceRequest, { text }: Body): DeleteOptions {
  const body = text === '' ? null : objectIn({ contentType: '', text }, 'DeleteOptions')
  if (body?.propagationPolicy === 'Orphan' || query.get('propagationPolicy') === 'Orphan') {
    throw badRequest(
      'propagationPolicy: Unsupported value: "Orphan": dependents always go with their owner here',
    )
  }
  if (body !== null) return readDeleteOptions(body)
  const gracePeriodSeconds = numberIn(query, 'gracePeriodSeconds')
  return {
    ...(gracePeriodSeconds === null ? {} : { gracePeriodSeconds }),
    ...(isDryRun(query) ? { dryRun: true } : {}),
  }
}

function objectIn({ contentType, text }: Body, kind: string): JsonObject {
  if (contentType !== '' && !/^(application\/json|\*\/\*)/.test(contentType)) {
    throw new ApiError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {})
  }
  try {
    const value: unknown = JSON.parse(text)
    if (isJsonObject(value)) return value
  } catch {
    // Said below.
  }
  const shown = text === '' ? '<empty>' : text.slice(0, 100)
  throw badRequest(`the object provided is unrecognized (must be of type ${kind}): ${shown}`)
}
