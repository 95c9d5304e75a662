import { isDeepStrictEqual } from 'node:util'
import { ApiError, badRequest } from '../objects/api-error.js'
import { isJsonObject, type JsonObject } from '../objects/api-object.js'

interface Operation {
  readonly op: string
  readonly path: string
  readonly from?: string
  readonly value?: unknown
}

type Container = Record<string, unknown> | unknown[]

/** RFC 6902. Throws `ApiError` 400 when it is no list of operations, 422 when one of them cannot be done. */
export function jsonPatch(target: JsonObject, patch: unknown): JsonObject {
  if (!Array.isArray(patch)) {
    throw badRequest(
      'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
    )
  }
  let root: unknown = structuredClone(target)
  for (const operation of patch as readonly Operation[]) root = applied(root, operation)
  return isJsonObject(root) ? root : fail()
}

function applied(root: unknown, { op, path, from, value }: Operation): unknown {
  switch (op) {
    case 'add':
      return add(root, path, value)
    case 'remove':
      return remove(root, path)
    case 'replace':
      return replace(root, path, value)
    case 'move': {
      const moved = read(root, from ?? '')
      return add(remove(root, from ?? ''), path, moved)
    }
    case 'copy':
      return add(root, path, structuredClone(read(root, from ?? '')))
    case 'test':
      return isDeepStrictEqual(readIfThere(root, path) ?? null, value ?? null) ? root : fail()
    default:
      return fail()
  }
}

function add(root: unknown, path: string, value: unknown): unknown {
  const keys = keysOf(path)
  const last = keys.pop()
  if (last === undefined) return value
  const container = containerAt(root, keys)
  if (!Array.isArray(container)) container[last] = value
  else if (last === '-') container.push(value)
  else container.splice(indexUpTo(container.length, last), 0, value)
  return root
}

/** The API server minds no missing field, only a missing place for it. */
function replace(root: unknown, path: string, value: unknown): unknown {
  const keys = keysOf(path)
  const last = keys.pop()
  const container = last === undefined ? null : containerAt(root, keys)
  return add(Array.isArray(container) ? remove(root, path) : root, path, value)
}

function remove(root: unknown, path: string): unknown {
  const keys = keysOf(path)
  const last = keys.pop()
  if (last === undefined) return {}
  const container = containerAt(root, keys)
  if (Array.isArray(container)) container.splice(indexUpTo(container.length - 1, last), 1)
  else if (last in container) delete container[last]
  else fail()
  return root
}

function readIfThere(root: unknown, path: string): unknown {
  const keys = keysOf(path)
  const last = keys.pop()
  if (last === undefined) return root
  const container = containerAt(root, keys)
  return isJsonObject(container) ? container[last] : memberOf(container, last)
}

function read(root: unknown, path: string): unknown {
  let value = root
  for (const key of keysOf(path)) value = memberOf(value, key)
  return value
}

function containerAt(root: unknown, keys: readonly string[]): Container {
  let value = root
  for (const key of keys) value = memberOf(value, key)
  return Array.isArray(value) || isJsonObject(value) ? (value as Container) : fail()
}

function memberOf(value: unknown, key: string): unknown {
  if (Array.isArray(value)) return value[indexUpTo(value.length - 1, key)]
  return isJsonObject(value) && key in value ? value[key] : fail()
}

function indexUpTo(last: number, key: string): number {
  const index = /^\d+$/.test(key) ? Number(key) : -1
  return index < 0 || index > last ? fail() : index
}

function keysOf(path: string): string[] {
  if (path === '') return []
  if (!path.startsWith('/')) fail()
  return path
    .slice(1)
    .split('/')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function fail(): never {
  throw new ApiError(422, 'Invalid', 'the server rejected our request due to an error in our request', {})
}
