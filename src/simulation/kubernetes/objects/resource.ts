import type { ApiObject } from './api-object.js'

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection'

/** One kind of object: how it is reached, and what the API server does to it beyond storing it. */
export interface Resource<T extends ApiObject = ApiObject> extends Rules<T> {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly singular: string
  readonly kind: string
  readonly namespaced: boolean
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly verbs: readonly Verb[]
  /** The status is written at a path of its own, and everything else not there. */
  readonly hasStatus: boolean
  /** `metadata.generation` counts the changes of the spec. */
  readonly hasGeneration: boolean
  /** An update may leave the resourceVersion out, and then wins over whatever is there. */
  readonly unconditionalUpdate: boolean
  /** A PUT of what does not exist makes it. */
  readonly createOnUpdate: boolean
  /** Field selectors besides those of name and namespace, as paths into the object. */
  readonly fields: readonly string[]
}

/** What differs from kind to kind. */
export interface Rules<T extends ApiObject> {
  /** Fills in what the server adds and puts back what a client may not change. `stored` is null for a new object. */
  complete?(object: T, stored: T | null): T
  /** What another object has a say in, for a new object only. Throws `ApiError`. */
  admit?(object: T, look: Look): T
  problems?(object: T, stored: T | null): readonly FieldProblem[]
}

/** A field that is wrong, in the words of the API server. */
export interface FieldProblem {
  readonly reason: 'FieldValueInvalid' | 'FieldValueRequired' | 'FieldValueForbidden'
  readonly field: string
  readonly message: string
}

/** What there is, for those who only read. */
export interface Look {
  find<T extends ApiObject>(resource: Resource<T>, namespace: string, name: string): T | undefined
  list<T extends ApiObject>(resource: Resource<T>, namespace?: string): readonly T[]
}

const ALL_VERBS: readonly Verb[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
]

type Given<T extends ApiObject> = Pick<Resource<T>, 'group' | 'kind' | 'namespaced'> & Partial<Resource<T>>

/** A row of the table of resources; what is not given is as for most kinds. */
export function defineResource<T extends ApiObject>(given: Given<T>): Resource<T> {
  const singular = given.kind.toLowerCase()
  return {
    version: 'v1',
    singular,
    plural: `${singular}s`,
    shortNames: [],
    categories: [],
    verbs: ALL_VERBS,
    hasStatus: false,
    hasGeneration: false,
    unconditionalUpdate: true,
    createOnUpdate: false,
    fields: [],
    ...given,
  }
}

/** `policy/v1`, and `v1` for the core group. */
export function apiVersionOf({ group, version }: Resource): string {
  return group === '' ? version : `${group}/${version}`
}
