import { isJsonObject, type JsonObject } from '../objects/api-object.js'

/**
 * By which field the items of a list are the same item. A list that is not named here is replaced whole: taints and
 * tolerations among them, as in the API server.
 */
const MERGE_KEYS: Readonly<Record<string, string>> = {
  conditions: 'type',
  addresses: 'type',
  ownerReferences: 'uid',
  containers: 'name',
  initContainers: 'name',
  ephemeralContainers: 'name',
  volumes: 'name',
  env: 'name',
  imagePullSecrets: 'name',
  volumeMounts: 'mountPath',
  ports: 'containerPort',
  hostAliases: 'ip',
  podIPs: 'ip',
  topologySpreadConstraints: 'topologyKey',
}

/** Lists of plain values that are united. */
const UNITED = new Set(['finalizers'])

const DIRECTIVE = '$patch'
const ORDER = '$setElementOrder/'
const DELETION = '$deleteFromPrimitiveList/'
const RETAINED = '$retainKeys'

/** Kubernetes' own kind of patch, as kubectl sends it. */
export function strategicMergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  if (patch[DIRECTIVE] === 'replace') return withoutDirectives(patch)
  if (patch[DIRECTIVE] === 'delete') return {}
  const retained = patch[RETAINED]
  const merged: Record<string, unknown> = Array.isArray(retained)
    ? Object.fromEntries(Object.entries(target).filter(([key]) => retained.includes(key)))
    : { ...target }
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith(DELETION) && Array.isArray(value)) {
      const name = key.slice(DELETION.length)
      merged[name] = listIn(merged, name).filter((one) => !value.includes(one))
    }
    if (key.startsWith('$')) continue
    if (value === null) delete merged[key]
    else merged[key] = mergedField(key, merged[key], value, patch[ORDER + key])
  }
  return merged
}

function mergedField(key: string, target: unknown, value: unknown, order: unknown): unknown {
  if (isJsonObject(value)) return strategicMergePatch(isJsonObject(target) ? target : {}, value)
  if (!Array.isArray(value)) return value
  const before = Array.isArray(target) ? target : []
  if (UNITED.has(key)) return [...new Set([...before, ...value])]
  const mergeKey = MERGE_KEYS[key]
  if (mergeKey === undefined || !value.every(isJsonObject)) return value
  return mergedList(before.filter(isJsonObject), value, mergeKey, Array.isArray(order) ? order : [])
}

function mergedList(
  before: readonly JsonObject[],
  patches: readonly JsonObject[],
  mergeKey: string,
  order: readonly unknown[],
): JsonObject[] {
  const isReplaced = patches.some((one) => one[DIRECTIVE] === 'replace' && !(mergeKey in one))
  const kept = isReplaced ? [] : before
  const deleted = new Set(patches.filter((one) => one[DIRECTIVE] === 'delete').map((one) => one[mergeKey]))
  const changes = patches.filter((one) => mergeKey in one && one[DIRECTIVE] !== 'delete')
  const changed = new Set(changes.map((one) => one[mergeKey]))
  const patched = changes.map((change) =>
    strategicMergePatch(kept.find((one) => one[mergeKey] === change[mergeKey]) ?? {}, change),
  )
  const untouched = kept.filter((one) => !changed.has(one[mergeKey]) && !deleted.has(one[mergeKey]))
  const wanted = order.map((one) => (isJsonObject(one) ? one[mergeKey] : one))
  const rank = (one: JsonObject) => wanted.indexOf(one[mergeKey])
  patched.sort((a, b) => rank(a) - rank(b))
  return interleaved(untouched, patched, kept, mergeKey)
}

/** What was in the list keeps its order; what is new comes before the next that was not touched. */
function interleaved(
  untouched: readonly JsonObject[],
  patched: readonly JsonObject[],
  before: readonly JsonObject[],
  mergeKey: string,
): JsonObject[] {
  const position = (one: JsonObject | undefined) =>
    before.findIndex((other) => one !== undefined && other[mergeKey] === one[mergeKey])
  const left = [...untouched]
  const right = [...patched]
  const all: JsonObject[] = []
  while (left.length > 0 && right.length > 0) {
    const [a, b] = [position(left[0]), position(right[0])]
    const next = a >= 0 && b >= 0 && a < b ? left.shift() : right.shift()
    if (next !== undefined) all.push(next)
  }
  return [...all, ...left, ...right]
}

function withoutDirectives(patch: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(patch).filter(([key]) => !key.startsWith('$')))
}

function listIn(object: Record<string, unknown>, key: string): unknown[] {
  const list = object[key]
  return Array.isArray(list) ? list : []
}
