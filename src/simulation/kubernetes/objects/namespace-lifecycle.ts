import { NAMESPACES } from '../kinds/namespace.js'
import { forbidden, notFound } from './api-error.js'
import { isTerminating, type ObjectMeta } from './api-object.js'
import type { Look, Resource } from './resource.js'

/** Nothing is made in a namespace that does not exist, or that is going. Throws `ApiError`. */
export function checkNamespace(
  look: Look,
  resource: Resource,
  { name, namespace = '' }: Pick<ObjectMeta, 'name' | 'namespace'>,
): void {
  if (!resource.namespaced) return
  const found = look.find(NAMESPACES, '', namespace)
  if (found === undefined) throw notFound(NAMESPACES, namespace)
  if (!isTerminating(found)) return
  throw forbidden(
    resource,
    name,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${namespace} is being terminated`,
        field: 'metadata.namespace',
      },
    ],
  )
}
