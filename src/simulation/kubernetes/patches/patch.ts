import { parse } from 'yaml'
import { ApiError, badRequest } from '../objects/api-error.js'
import { isJsonObject, type JsonObject } from '../objects/api-object.js'
import { jsonPatch } from './json-patch.js'
import { mergePatch } from './merge-patch.js'
import { strategicMergePatch } from './strategic-merge-patch.js'

/** What a PATCH makes of an object. */
export interface Patch {
  /** It may also make what does not exist yet. */
  readonly mayCreate: boolean
  apply(stored: JsonObject): JsonObject
}

const APPLY = 'application/apply-patch+yaml'

/**
 * The patch in a request. Throws `ApiError` 415 for a content type that is no patch, 400 for a body that is not what
 * its content type says. Server-side apply keeps no account of who owns which field: it merges.
 */
export function readPatch(contentType: string, text: string): Patch {
  switch (contentType.split(';')[0]?.trim()) {
    case 'application/merge-patch+json':
      return patchOf(parsedJson(text), mergePatch)
    case 'application/strategic-merge-patch+json':
      return patchOf(parsedJson(text), strategicMergePatch)
    case 'application/json-patch+json': {
      const operations = parsedJson(text)
      return { mayCreate: false, apply: (stored) => jsonPatch(stored, operations) }
    }
    case APPLY:
      return { ...patchOf(parsedYaml(text), strategicMergePatch), mayCreate: true }
    default:
      throw new ApiError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {})
  }
}

function patchOf(body: unknown, merge: (stored: JsonObject, patch: JsonObject) => JsonObject): Patch {
  if (!isJsonObject(body)) throw badRequest('error decoding patch: it is no object')
  return { mayCreate: false, apply: (stored) => merge(stored, body) }
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw badRequest('error decoding patch: it is no JSON')
  }
}

function parsedYaml(text: string): unknown {
  try {
    return parse(text)
  } catch {
    throw badRequest('error decoding YAML')
  }
}
