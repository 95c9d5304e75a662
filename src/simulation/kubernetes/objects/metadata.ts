import { randomInt, randomUUID } from 'node:crypto'
import { DecodeError } from './api-error.js'
import { isJsonObject, type JsonObject, type Labels, type ObjectMeta, timestamp } from './api-object.js'
import type { FieldProblem, Resource } from './resource.js'

/** What a client may say about an object besides its name. */
type Wishes = Partial<
  Pick<ObjectMeta, 'generateName' | 'labels' | 'annotations' | 'finalizers' | 'ownerReferences'>
>

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const LABEL_VALUE = /^(([A-Za-z0-9][-\w.]*)?[A-Za-z0-9])?$/
const QUALIFIED_NAME =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?[A-Za-z0-9]([-\w.]*[A-Za-z0-9])?$/
const LONGEST_NAME = 253
const LONGEST_LABEL = 63

/** No vowels, so that no words come out, and nothing that looks like something else. */
const SUFFIX_LETTERS = 'bcdfghjklmnpqrstvwxz2456789'
const SUFFIX_LENGTH = 5

/** Of a new object, at no version yet. */
export function newMetadata(given: JsonObject, resource: Resource, namespace: string): ObjectMeta {
  const prefix = typeof given.generateName === 'string' ? given.generateName : ''
  const name = typeof given.name === 'string' ? given.name : ''
  return {
    name: name === '' && prefix !== '' ? prefix + randomSuffix() : name,
    ...(resource.namespaced ? { namespace } : {}),
    uid: randomUUID(),
    resourceVersion: '',
    ...(resource.hasGeneration ? { generation: 1 } : {}),
    creationTimestamp: timestamp(),
    ...wishesIn(given),
  }
}

/** What the server decides about an object stays; what clients decide is theirs to change, and to take away. */
export function updatedMetadata(given: JsonObject, stored: ObjectMeta): ObjectMeta {
  const { generateName, labels, annotations, finalizers, ownerReferences, ...fixed } = stored
  return { ...fixed, ...wishesIn({ ...given, generateName }) }
}

export function nameProblems(resource: Resource, { name }: ObjectMeta): FieldProblem[] {
  const field = 'metadata.name'
  if (name === '') {
    const message = 'Required value: name or generateName is required'
    return [{ reason: 'FieldValueRequired', field, message }]
  }
  const isRbac = resource.group === 'rbac.authorization.k8s.io'
  if (name.length <= LONGEST_NAME && (isRbac ? !/[/%]|^\.{1,2}$/.test(name) : SUBDOMAIN.test(name))) return []
  const message = `Invalid value: "${name}": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`
  return [{ reason: 'FieldValueInvalid', field, message }]
}

export function metadataProblems(metadata: ObjectMeta, stored: ObjectMeta | null): FieldProblem[] {
  const problems = [
    ...Object.entries(metadata.labels ?? {}).flatMap(labelProblems),
    ...Object.keys(metadata.annotations ?? {}).flatMap((key) => keyProblems('metadata.annotations', key)),
  ]
  const added = (metadata.finalizers ?? []).filter((one) => !stored?.finalizers?.includes(one))
  if (stored?.deletionTimestamp !== undefined && added.length > 0) {
    const found = added.map((one) => JSON.stringify(one)).join(', ')
    problems.push({
      reason: 'FieldValueForbidden',
      field: 'metadata.finalizers',
      message: `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{${found}}`,
    })
  }
  return problems
}

function randomSuffix(): string {
  return Array.from({ length: SUFFIX_LENGTH }, () => SUFFIX_LETTERS[randomInt(SUFFIX_LETTERS.length)]).join(
    '',
  )
}

function wishesIn(given: JsonObject): Wishes {
  const { generateName, labels, annotations, finalizers, ownerReferences } = given as Wishes
  return {
    ...(typeof generateName === 'string' && generateName !== '' ? { generateName } : {}),
    ...(isFilled(labels) ? { labels } : {}),
    ...(isFilled(annotations) ? { annotations } : {}),
    ...(finalizers?.length ? { finalizers: [...new Set(finalizers)] } : {}),
    ...(ownerReferences?.length ? { ownerReferences } : {}),
  }
}

function isFilled(map: unknown): map is Labels {
  if (!isJsonObject(map)) return false
  const other = Object.values(map).find((value) => typeof value !== 'string' && value !== null)
  if (other !== undefined) {
    throw new DecodeError(
      `json: cannot unmarshal ${typeof other} into Go struct field ObjectMeta of type string`,
    )
  }
  return Object.keys(map).length > 0
}

function labelProblems([key, value]: [string, string]): FieldProblem[] {
  const field = 'metadata.labels'
  const isValid = LABEL_VALUE.test(value) && value.length <= LONGEST_LABEL
  const message = `Invalid value: "${value}": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`
  return [
    ...keyProblems(field, key),
    ...(isValid ? [] : [{ reason: 'FieldValueInvalid' as const, field, message }]),
  ]
}

function keyProblems(field: string, key: string): FieldProblem[] {
  const name = key.slice(key.lastIndexOf('/') + 1)
  if (QUALIFIED_NAME.test(field === 'metadata.annotations' ? key.toLowerCase() : key)) {
    if (name.length <= LONGEST_LABEL) return []
  }
  const message = `Invalid value: "${key}": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character`
  return [{ reason: 'FieldValueInvalid', field, message }]
}
