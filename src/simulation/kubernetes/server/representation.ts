import { ApiError } from '../objects/api-error.js'
import type { ApiObject } from '../objects/api-object.js'
import { apiVersionOf, type Resource } from '../objects/resource.js'
import { columnsOf } from './columns.js'

/** How a client wants to see objects: whole, only their metadata, or as rows that kubectl prints. */
export type Form = 'whole' | 'metadata' | 'table'

interface ListMetadata {
  readonly resourceVersion: string
  readonly continue?: string
  readonly remainingItemCount?: number
}

const META = 'meta.k8s.io/v1'
/** Shown only with `-o wide`. */
const WIDE = ['IP', 'Node']

/** The first form of an Accept header that we can give. Throws `ApiError` 406 when there is none. */
export function formOf(accept: string | undefined): Form {
  for (const range of (accept || '*/*').split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
    if (!['application/json', 'application/*', '*/*'].includes(type)) continue
    const as = parameters.find((parameter) => parameter.startsWith('as='))?.slice(3)
    if (as === undefined) return 'whole'
    if (!parameters.includes('v=v1') || !parameters.includes('g=meta.k8s.io')) continue
    if (as === 'Table') return 'table'
    if (as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList') return 'metadata'
  }
  const message = 'only the following media types are accepted: application/json'
  throw new ApiError(406, 'NotAcceptable', message, {})
}

export function inForm(form: Form, resource: Resource, object: ApiObject): object {
  switch (form) {
    case 'whole':
      return object
    case 'metadata':
      return { kind: 'PartialObjectMetadata', apiVersion: META, metadata: object.metadata }
    case 'table':
      return table(resource, [object], { resourceVersion: object.metadata.resourceVersion })
  }
}

export function listInForm(
  form: Form,
  resource: Resource,
  objects: readonly ApiObject[],
  metadata: ListMetadata,
): object {
  switch (form) {
    case 'whole': {
      const { kind } = resource
      // Their kind is known from the list's.
      const items = objects.map(({ kind: _, apiVersion, ...item }) => item)
      return { kind: `${kind}List`, apiVersion: apiVersionOf(resource), metadata, items }
    }
    case 'metadata':
      return {
        ...{ kind: 'PartialObjectMetadataList', apiVersion: META, metadata },
        items: objects.map((object) => inForm(form, resource, object)),
      }
    case 'table':
      return table(resource, objects, metadata)
  }
}

function table(resource: Resource, objects: readonly ApiObject[], metadata: ListMetadata): object {
  const rows = objects.map((object) => ({
    cells: columnsOf(resource, object),
    object: inForm('metadata', resource, object),
  }))
  const names = Object.keys(rows[0]?.cells ?? {})
  return {
    ...{ kind: 'Table', apiVersion: META, metadata },
    columnDefinitions: names.map((name) => ({
      ...{ name, type: 'string', format: name === 'Name' ? 'name' : '', description: '' },
      priority: WIDE.includes(name) ? 1 : 0,
    })),
    rows: rows.map(({ cells, object }) => ({ cells: Object.values(cells), object })),
  }
}
