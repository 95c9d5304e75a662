import { badRequest, methodNotAllowed, noSuchResource } from '../objects/api-error.js'
import type { Resource, Verb } from '../objects/resource.js'
import { findResource, isServed } from '../objects/resources.js'
import { type FieldSelector, parseFieldSelector } from './field-selector.js'

/** What a request is about. */
export type ApiRequest = ResourceRequest | PathRequest

export interface ResourceRequest {
  readonly kind: 'resource'
  readonly verb: Verb
  readonly resource: Resource
  readonly subresource: string
  /** A namespace is in itself, as far as rules and the audit log go. */
  readonly namespace: string
  /** Also of a list that a field selector narrows to one name; the rules then speak of that name. */
  readonly name: string
  readonly query: URLSearchParams
}

/** Everything that is no object, as `/version`. */
export interface PathRequest {
  readonly kind: 'path'
  readonly verb: string
  readonly path: string
  readonly query: URLSearchParams
}

const VERBS: Readonly<Record<string, Verb>> = {
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}

/** Throws `ApiError` 404 for objects of an unknown kind. */
export function readRequest(method: string, url: string): ApiRequest {
  const { pathname, searchParams: query } = new URL(url, 'https://localhost')
  const words = pathname
    .split('/')
    .filter((word) => word !== '')
    .map(decoded)
  const [root, ...rest] = words
  const inGroup = root === 'apis' ? rest.splice(0, 1)[0] : ''
  const version = rest.shift()
  const isObject = ['api', 'apis'].includes(root ?? '') && version !== undefined && rest.length > 0
  // An API server without that group knows no such path at all.
  if (!isObject || !isServed(inGroup ?? '', version)) {
    return { kind: 'path', verb: method.toLowerCase(), path: pathname, query }
  }
  const { namespace, plural, name, subresource } = target(rest)
  const resource = findResource(inGroup ?? '', version, plural)
  if (resource === undefined || rest.length > 5) throw noSuchResource()
  const verb = verbOf(method, name, query)
  const selected = ['list', 'watch'].includes(verb) ? fieldSelectorIn(query, resource).name : null
  return { kind: 'resource', verb, resource, subresource, namespace, name: name || (selected ?? ''), query }
}

export function fieldSelectorIn(query: URLSearchParams, resource: Resource): FieldSelector {
  return parseFieldSelector(query.get('fieldSelector') ?? '', resource)
}

/** Is a number there, it is one. Throws `ApiError`. */
export function numberIn(query: URLSearchParams, name: string): number | null {
  const text = query.get(name)
  if (text === null || text === '') return null
  if (!/^-?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing "${text}": invalid syntax`)
  return Number(text)
}

export function isDryRun(query: URLSearchParams): boolean {
  return query.getAll('dryRun').includes('All')
}

/** `namespaces` is a kind of object, and the beginning of the way to others. */
function target(words: readonly string[]) {
  const [first = '', second = '', ...others] = words
  if (first !== 'namespaces' || others.length === 0 || ['status', 'finalize'].includes(others[0] ?? '')) {
    const namespace = first === 'namespaces' ? second : ''
    return { namespace, plural: first, name: second, subresource: others.join('/') }
  }
  const [plural = '', name = '', ...subresource] = others
  return { namespace: second, plural, name, subresource: subresource.join('/') }
}

function verbOf(method: string, name: string, query: URLSearchParams): Verb {
  if (method === 'GET') {
    if (name !== '') return 'get'
    return ['true', '1'].includes(query.get('watch') ?? '') ? 'watch' : 'list'
  }
  const verb = VERBS[method]
  if (verb === undefined) throw methodNotAllowed()
  return verb === 'delete' && name === '' ? 'deletecollection' : verb
}

function decoded(word: string): string {
  try {
    return decodeURIComponent(word)
  } catch {
    return word
  }
}
