import { DecodeError } from './api-error.js'
import { isJsonObject, type JsonObject } from './api-object.js'
import { canonicalQuantity } from './quantity.js'

/** What people keep there is theirs, word for word. */
const VERBATIM = new Set(['labels', 'annotations', 'data', 'binaryData', 'matchLabels', 'nodeSelector'])

/** Lists and maps that are left out when they are empty. */
const OMITTED_WHEN_EMPTY = new Set([
  'labels',
  'annotations',
  'finalizers',
  'ownerReferences',
  'data',
  'binaryData',
  'taints',
  'tolerations',
  'conditions',
  'nodeSelector',
  'matchLabels',
  'matchExpressions',
  'capacity',
  'allocatable',
  'addresses',
  'volumes',
  'containerStatuses',
  'disruptedPods',
  'requests',
  'limits',
  'namespaces',
])

/** Texts that are left out when they are empty, since their absence says the same. */
const OMITTED_WHEN_BLANK = new Set(['providerID', 'nodeName', 'generateName', 'uid', 'resourceVersion'])

const QUANTITIES = new Set(['capacity', 'allocatable', 'requests', 'limits'])

const WHOLE_SECONDS = new Set([
  'creationTimestamp',
  'deletionTimestamp',
  'lastTransitionTime',
  'lastHeartbeatTime',
  'lastProbeTime',
  'lastUpdateTime',
  'startTime',
  'startedAt',
  'finishedAt',
  'timeAdded',
  'firstTimestamp',
  'lastTimestamp',
])

/**
 * An object as the API server writes it: nothing that says nothing, quantities and times in one spelling. Throws
 * `ApiError` for a quantity or time that is none.
 */
export function tidy(object: JsonObject): JsonObject {
  const entries: [string, unknown][] = []
  for (const [key, value] of Object.entries(object)) {
    const tidied = tidyField(key, value)
    if (tidied !== undefined) entries.push([key, tidied])
  }
  return Object.fromEntries(entries)
}

function tidyField(key: string, value: unknown): unknown {
  if (value === null || value === undefined) return undefined
  if (value === '' && OMITTED_WHEN_BLANK.has(key)) return undefined
  if (OMITTED_WHEN_EMPTY.has(key) && typeof value === 'object' && Object.keys(value).length === 0) {
    return undefined
  }
  if (WHOLE_SECONDS.has(key) && typeof value === 'string') return wholeSeconds(value)
  if (VERBATIM.has(key)) return isJsonObject(value) ? withoutNulls(value) : value
  if (QUANTITIES.has(key) && isJsonObject(value)) return quantities(value)
  return tidyValue(value)
}

function tidyValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(tidyValue)
  return isJsonObject(value) ? tidy(value) : value
}

function withoutNulls(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([, text]) => text !== null))
}

function quantities(amounts: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(amounts).map(([name, amount]) => {
      const canonical = canonicalQuantity(String(amount))
      if (canonical === null) {
        throw new DecodeError(
          `quantities must match the regular expression of quantities: ${name}: ${amount}`,
        )
      }
      return [name, canonical]
    }),
  )
}

function wholeSeconds(text: string): string {
  const at = Date.parse(text)
  if (Number.isNaN(at))
    throw new DecodeError(`parsing time "${text}" as "2006-01-02T15:04:05Z07:00": cannot parse`)
  return new Date(at).toISOString().replace(/\.\d+Z$/, 'Z')
}
