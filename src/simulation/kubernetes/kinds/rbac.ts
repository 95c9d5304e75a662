import type { ApiObject } from '../objects/api-object.js'
import { defineResource } from '../objects/resource.js'

export interface Role extends ApiObject {
  readonly rules?: readonly Rule[]
}

export interface Rule {
  readonly verbs: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
}

export interface RoleBinding extends ApiObject {
  readonly roleRef: { readonly kind: 'Role' | 'ClusterRole'; readonly name: string }
  readonly subjects?: readonly Subject[]
}

export interface Subject {
  readonly kind: 'User' | 'Group' | 'ServiceAccount'
  readonly name: string
  readonly namespace?: string
}

const group = 'rbac.authorization.k8s.io'

export const CLUSTER_ROLES = defineResource<Role>({ group, kind: 'ClusterRole', namespaced: false })
export const CLUSTER_ROLE_BINDINGS = defineResource<RoleBinding>({
  group,
  kind: 'ClusterRoleBinding',
  namespaced: false,
})
export const ROLES = defineResource<Role>({ group, kind: 'Role', namespaced: true })
export const ROLE_BINDINGS = defineResource<RoleBinding>({ group, kind: 'RoleBinding', namespaced: true })
