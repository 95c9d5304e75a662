import { isJsonObject, type JsonObject } from '../objects/api-object.js'

/** RFC 7386: objects are merged, null takes a field away, everything else replaces. */
export function mergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  const merged: Record<string, unknown> = { ...target }
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key]
    else merged[key] = isJsonObject(value) ? mergePatch(partOrNew(merged[key]), value) : value
  }
  return merged
}

function partOrNew(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}
