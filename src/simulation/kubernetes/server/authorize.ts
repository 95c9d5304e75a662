import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  ROLE_BINDINGS,
  ROLES,
  type RoleBinding,
  type Rule,
  type Subject,
} from '../kinds/rbac.js'
import { ApiError, forbidden } from '../objects/api-error.js'
import type { Look } from '../objects/resource.js'
import type { ApiRequest, PathRequest, ResourceRequest } from './api-request.js'
import { MASTERS, type User } from './users.js'

/** Lets pass what the Roles and ClusterRoles give the user. Throws `ApiError` 403 for anything else. */
export function authorize(look: Look, user: User, request: ApiRequest): void {
  if (user.groups.includes(MASTERS)) return
  if (request.kind === 'path') {
    if (!isPathAllowed(look, user, request)) {
      const message = `forbidden: User "${user.name}" cannot ${request.verb} path "${request.path}"`
      throw new ApiError(403, 'Forbidden', message, {})
    }
    return
  }
  if (isAllowed(look, user, request)) return
  const { resource, verb, namespace, name } = request
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`
  throw forbidden(
    resource,
    name,
    `User "${user.name}" cannot ${verb} resource "${words(request)}" in API group "${resource.group}" ${where}`,
  )
}

function isAllowed(look: Look, user: User, request: ResourceRequest): boolean {
  const { verb, resource, namespace, name } = request
  return rulesFor(look, user, namespace).some(
    ({ verbs, apiGroups = [], resources = [], resourceNames = [] }) =>
      includes(verbs, verb) &&
      includes(apiGroups, resource.group) &&
      includes(resources, words(request)) &&
      // The name of a new object is not known to the rules.
      (resourceNames.length === 0 ||
        (resourceNames.includes(name) && (verb !== 'create' || request.subresource !== ''))),
  )
}

function isPathAllowed(look: Look, user: User, { verb, path }: PathRequest): boolean {
  return rulesFor(look, user, '').some(
    ({ verbs, nonResourceURLs = [] }) =>
      includes(verbs, verb) &&
      nonResourceURLs.some((url) => (url.endsWith('*') ? path.startsWith(url.slice(0, -1)) : url === path)),
  )
}

/** Everywhere, and in this namespace. */
function rulesFor(look: Look, user: User, namespace: string): readonly Rule[] {
  const everywhere = look
    .list(CLUSTER_ROLE_BINDINGS)
    .filter((binding) => isBound(binding, user))
    .flatMap(({ roleRef }) => look.find(CLUSTER_ROLES, '', roleRef.name)?.rules ?? [])
  if (namespace === '') return everywhere
  const here = look
    .list(ROLE_BINDINGS, namespace)
    .filter((binding) => isBound(binding, user))
    .flatMap(({ roleRef: { kind, name } }) => {
      const role =
        kind === 'ClusterRole' ? look.find(CLUSTER_ROLES, '', name) : look.find(ROLES, namespace, name)
      return role?.rules ?? []
    })
  return [...everywhere, ...here]
}

function isBound({ subjects = [] }: RoleBinding, user: User): boolean {
  return subjects.some((subject) => isSubject(subject, user))
}

function isSubject({ kind, name, namespace }: Subject, user: User): boolean {
  switch (kind) {
    case 'User':
      return user.name === name
    case 'Group':
      return user.groups.includes(name)
    case 'ServiceAccount':
      return user.name === `system:serviceaccount:${namespace}:${name}`
    default:
      return false
  }
}

function includes(list: readonly string[], word: string): boolean {
  return list.includes('*') || list.includes(word)
}

/** `pods/eviction` */
function words({ resource: { plural }, subresource }: ResourceRequest): string {
  return subresource === '' ? plural : `${plural}/${subresource}`
}
