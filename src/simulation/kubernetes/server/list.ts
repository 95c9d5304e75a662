import { ApiError, badRequest, expired } from '../objects/api-error.js'
import type { ApiObject } from '../objects/api-object.js'
import { parseLabelSelector } from '../objects/label-selector.js'
import type { Store } from '../objects/store.js'
import { fieldSelectorIn, numberIn, type ResourceRequest } from './api-request.js'
import { type Form, listInForm } from './representation.js'

interface Position {
  /** The version whose objects are being listed. */
  readonly version: number
  /** The last key that has been given. */
  readonly after: string
}

const TOO_OLD =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
  'the continue parameter.'

/** One page of a list, by key; all pages of a list show the same moment. Throws `ApiError`. */
export function listPage(store: Store, request: ResourceRequest, form: Form): object {
  const { resource, query } = request
  const matches = selectorIn(request)
  const limit = numberIn(query, 'limit') ?? 0
  const token = query.get('continue') ?? ''
  const position = token === '' ? { version: versionAskedFor(store, query), after: '' } : parseToken(token)
  const objects = objectsAt(store, request, position.version)
  const keys = [...objects.keys()].filter((key) => key > position.after).sort()
  const page: ApiObject[] = []
  let after: string | null = null
  let left = 0
  for (const key of keys) {
    const object = objects.get(key)
    if (object === undefined || !matches(object)) continue
    if (limit > 0 && page.length === limit) {
      left += 1
      continue
    }
    page.push(object)
    after = key
  }
  const isSelected = query.get('labelSelector') || query.get('fieldSelector')
  return listInForm(form, resource, page, {
    resourceVersion: String(position.version),
    ...(left === 0 || after === null ? {} : { continue: tokenOf({ version: position.version, after }) }),
    ...(left === 0 || isSelected ? {} : { remainingItemCount: left }),
  })
}

/** Does the object belong to what was asked for? Throws `ApiError` for selectors that cannot be understood. */
export function selectorIn({ resource, namespace, query }: ResourceRequest): (object: ApiObject) => boolean {
  const labels = parseLabelSelector(query.get('labelSelector') ?? '')
  const fields = fieldSelectorIn(query, resource)
  return (object) =>
    (namespace === '' || object.metadata.namespace === namespace) &&
    labels(object.metadata.labels ?? {}) &&
    fields.matches(object)
}

/** Throws `ApiError` for a version that is none, or that has not been yet. */
export function parseVersion(store: Store, text: string): number {
  if (!/^\d+$/.test(text)) {
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`,
    )
  }
  const version = Number(text)
  if (version > store.version) {
    const message = `Timeout: Too large resource version: ${version}, current: ${store.version}`
    throw new ApiError(504, 'Timeout', message, {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    })
  }
  return version
}

function versionAskedFor(store: Store, query: URLSearchParams): number {
  const version = parseVersion(store, query.get('resourceVersion') || '0')
  return query.get('resourceVersionMatch') === 'Exact' ? version : store.version
}

function objectsAt(store: Store, { resource, query }: ResourceRequest, version: number) {
  try {
    return store.listAt(resource, version)
  } catch (error) {
    throw query.get('continue') ? expired(TOO_OLD) : error
  }
}

function tokenOf({ version, after }: Position): string {
  const said = JSON.stringify({ v: 'meta.k8s.io/v1', rv: version, start: after })
  return Buffer.from(said).toString('base64url')
}

function parseToken(token: string): Position {
  try {
    const { rv, start } = JSON.parse(Buffer.from(token, 'base64url').toString()) as Record<string, unknown>
    if (typeof rv === 'number' && typeof start === 'string') return { version: rv, after: start }
  } catch {
    // Said below.
  }
  throw badRequest('invalid continue token: continue key is not valid')
}
