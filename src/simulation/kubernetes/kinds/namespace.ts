import type { ApiObject } from '../objects/api-object.js'
import { defineResource } from '../objects/resource.js'

export interface Namespace extends ApiObject {
  readonly spec: { readonly finalizers?: readonly string[] }
  readonly status: { readonly phase: 'Active' | 'Terminating' }
}

/** These are there from the start and can never be deleted. */
export const SYSTEM_NAMESPACES = ['default', 'kube-system', 'kube-public']

export const NAMESPACES = defineResource<Namespace>({
  group: '',
  kind: 'Namespace',
  namespaced: false,
  shortNames: ['ns'],
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  hasStatus: true,
  fields: ['status.phase'],
  complete: (object, stored) => ({
    ...object,
    metadata: {
      ...object.metadata,
      labels: { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name },
    },
    spec: stored?.spec ?? { finalizers: ['kubernetes'] },
    status: stored?.status ?? { phase: 'Active' },
  }),
})
