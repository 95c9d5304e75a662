import { badRequest } from '../objects/api-error.js'
import { type ApiObject, isJsonObject } from '../objects/api-object.js'
import type { Resource } from '../objects/resource.js'

interface Requirement {
  readonly field: string
  readonly negated: boolean
  readonly value: string
}

export interface FieldSelector {
  matches(object: ApiObject): boolean
  /** The one name it allows, when it names one. */
  readonly name: string | null
}

/** `metadata.name=w-1,spec.nodeName!=`. Throws `ApiError` for a field that this kind is not selected by. */
export function parseFieldSelector(text: string, resource: Resource): FieldSelector {
  const requirements = text
    .split(',')
    .filter((part) => part.trim() !== '')
    .map((part) => parseRequirement(part.trim(), resource))
  const named = requirements.find(({ field, negated }) => field === 'metadata.name' && !negated)
  return {
    matches: (object) =>
      requirements.every(({ field, negated, value }) => (fieldOf(object, field) === value) !== negated),
    name: named?.value ?? null,
  }
}

function parseRequirement(text: string, resource: Resource): Requirement {
  const [, field = '', sign = '', value = ''] = /^([^=!]+)(==|=|!=)(.*)$/.exec(text) ?? []
  if (sign === '') throw badRequest(`invalid selector: '${text}'; can't understand '${text}'`)
  const known = ['metadata.name', ...(resource.namespaced ? ['metadata.namespace'] : []), ...resource.fields]
  if (!known.includes(field)) {
    const names = known.map((one) => `"${one}"`).join(', ')
    throw badRequest(`"${field}" is not a known field selector: only ${names}`)
  }
  return { field, negated: sign === '!=', value }
}

/** What is not there counts as empty, and a flag that is not there as `false`. */
function fieldOf(object: ApiObject, path: string): string {
  let value: unknown = object
  for (const key of path.split('.')) value = isJsonObject(value) ? value[key] : undefined
  return String(value ?? (path === 'spec.unschedulable' ? false : ''))
}
