import { isDeepStrictEqual } from 'node:util'
import { ApiError, alreadyExists, badRequest, conflict, invalid, modified, notFound } from './api-error.js'
import { type ApiObject, isTerminating, type JsonObject, partOf } from './api-object.js'
import { metadataProblems, nameProblems, newMetadata, updatedMetadata } from './metadata.js'
import { checkNamespace } from './namespace-lifecycle.js'
import { apiVersionOf, type FieldProblem, type Resource } from './resource.js'
import type { Store } from './store.js'
import { tidy } from './tidy.js'

export interface WriteOptions {
  /** Everything is checked, and nothing stored. */
  readonly dryRun?: boolean
}

export interface UpdateOptions extends WriteOptions {
  readonly status?: boolean
  /** A whole object takes the place of the stored one; otherwise it was made from the stored one. */
  readonly replaces?: boolean
}

const COLLISIONS = 8

/** Creates and updates objects by the rules of their kind. Deletions are in `deletion.ts`. */
export class Registry {
  readonly store: Store

  constructor(store: Store) {
    this.store = store
  }

  create<T extends ApiObject>(
    resource: Resource<T>,
    namespace: string,
    body: JsonObject,
    { dryRun = false }: WriteOptions = {},
  ): T {
    checkKind(resource, body)
    const given = partOf(body, 'metadata')
    checkNamespaceOf(given, namespace)
    if (given.resourceVersion) {
      throw new ApiError(500, null, 'resourceVersion should not be set on objects to be created')
    }
    const metadata = newMetadata(given, resource, namespace)
    checkNamespace(this.store, resource, metadata)
    const object = this.#admitted(resource, tidied<T>(resource, body, metadata))
    const problems = [
      ...nameProblems(resource, object.metadata),
      ...metadataProblems(object.metadata, null),
      ...(resource.problems?.(object, null) ?? []),
    ]
    if (problems.length > 0) throw invalid(resource, object.metadata.name, problems)
    if (this.store.find(resource, namespace, object.metadata.name) !== undefined) {
      throw alreadyExists(resource, object.metadata.name)
    }
    return dryRun ? object : this.store.put(resource, object)
  }

  /** A new object under a generated name, whatever names there are. */
  createAnother<T extends ApiObject>(resource: Resource<T>, namespace: string, body: JsonObject): T {
    for (let collisions = 0; ; collisions++) {
      try {
        return this.create(resource, namespace, body)
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 409 || collisions === COLLISIONS) throw error
      }
    }
  }

  /**
   * Stores what `change` makes of the stored object. Gives the object as it is then; it may be gone, if this was the
   * last thing that kept it. Throws what `change` throws.
   */
  update<T extends ApiObject>(
    resource: Resource<T>,
    namespace: string,
    name: string,
    change: (stored: T) => JsonObject,
    options: UpdateOptions = {},
  ): T {
    const stored = this.store.find(resource, namespace, name)
    if (stored === undefined) throw notFound(resource, name)
    const body = change(stored)
    checkKind(resource, body)
    const given = partOf(body, 'metadata')
    checkNameOf(given, name)
    checkNamespaceOf(given, namespace)
    checkVersion(resource, given, stored, options)
    const metadata = updatedMetadata(given, stored.metadata)
    const object = this.#completed(resource, tidied<T>(resource, body, metadata), stored, options)
    const problems = [
      ...immutableProblems(given, stored),
      ...metadataProblems(object.metadata, stored.metadata),
      ...(resource.problems?.(object, stored) ?? []),
    ]
    if (problems.length > 0) throw invalid(resource, name, problems)
    if (isDeepStrictEqual(object, stored)) return stored
    if (options.dryRun) return object
    if (isTerminating(object) && isReleased(object)) {
      this.store.remove(resource, object)
      return object
    }
    return this.store.put(resource, object)
  }

  #admitted<T extends ApiObject>(resource: Resource<T>, object: T): T {
    const complete = resource.complete?.(object, null) ?? object
    return resource.admit?.(complete, this.store) ?? complete
  }

  #completed<T extends ApiObject>(
    resource: Resource<T>,
    object: T,
    stored: T,
    { status = false }: UpdateOptions,
  ): T {
    const { metadata } = object
    // At `/status` everything else stays as it was, and elsewhere the status does.
    const merged = status
      ? { ...stored, metadata, status: object.status }
      : resource.hasStatus
        ? withStatus(object, stored.status)
        : object
    const complete = resource.complete?.(merged, stored) ?? merged
    if (!resource.hasGeneration || isDeepStrictEqual(complete.spec, stored.spec)) return complete
    const generation = (stored.metadata.generation ?? 0) + 1
    return { ...complete, metadata: { ...complete.metadata, generation } }
  }
}

/** Nothing keeps it any longer once it is to be deleted. */
export function isReleased({ metadata, spec }: ApiObject): boolean {
  const finalizers = partOf({ spec }, 'spec').finalizers
  return (
    (metadata.finalizers ?? []).length === 0 &&
    (metadata.deletionGracePeriodSeconds ?? 0) === 0 &&
    // Of a namespace: its content.
    (!Array.isArray(finalizers) || finalizers.length === 0)
  )
}

function withStatus<T extends ApiObject>(object: T, status: unknown): T {
  const { status: _, ...rest } = object
  return (status === undefined ? rest : { ...rest, status }) as T
}

function tidied<T extends ApiObject>(resource: Resource<T>, body: JsonObject, metadata: object): T {
  const { kind, apiVersion, metadata: _, ...fields } = body
  // Read back as the kind's own type: `complete` fills in what that promises.
  return {
    kind: resource.kind,
    apiVersion: apiVersionOf(resource),
    metadata: tidy(metadata as JsonObject),
    ...tidy(fields),
  } as unknown as T
}

function checkKind(resource: Resource, { kind, apiVersion }: JsonObject): void {
  const isOther =
    (kind !== undefined && kind !== resource.kind) ||
    (apiVersion !== undefined && apiVersion !== apiVersionOf(resource))
  if (!isOther) return
  throw badRequest(
    `${kind} in version "${apiVersion}" cannot be handled as a ${resource.kind}: unknown conversion`,
  )
}

function checkNameOf(given: JsonObject, name: string): void {
  if (!given.name) {
    throw badRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    )
  }
  if (given.name !== name) {
    throw badRequest(`the name of the object (${given.name}) does not match the name on the URL (${name})`)
  }
}

function checkNamespaceOf({ namespace }: JsonObject, asked: string): void {
  if (namespace && namespace !== asked) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
}

function checkVersion(
  resource: Resource,
  { uid, resourceVersion }: JsonObject,
  { metadata }: ApiObject,
  { replaces = false }: UpdateOptions,
): void {
  const { name } = metadata
  if (replaces && uid && uid !== metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`
    throw conflict(resource, name, why)
  }
  if (!resourceVersion && !resource.unconditionalUpdate) {
    const message = 'Invalid value: 0: must be specified for an update'
    const problem = { reason: 'FieldValueInvalid', field: 'metadata.resourceVersion', message } as const
    throw invalid(resource, name, [problem], resource.plural)
  }
  if (resourceVersion && resourceVersion !== metadata.resourceVersion) throw modified(resource, name)
}

/** A client may leave out what is the server's, but not say something else. */
function immutableProblems(
  { uid, deletionTimestamp }: JsonObject,
  { metadata }: ApiObject,
): readonly FieldProblem[] {
  const changed = [
    ...(uid && uid !== metadata.uid ? [{ name: 'uid', value: uid }] : []),
    ...(deletionTimestamp && metadata.deletionTimestamp === undefined
      ? [{ name: 'deletionTimestamp', value: deletionTimestamp }]
      : []),
  ]
  return changed.map(({ name, value }) => ({
    reason: 'FieldValueInvalid',
    field: `metadata.${name}`,
    message: `Invalid value: "${value}": field is immutable`,
  }))
}
