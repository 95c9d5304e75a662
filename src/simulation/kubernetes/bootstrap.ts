import type { JsonObject } from './objects/api-object.js'
import type { Registry } from './objects/registry.js'
import { resourceOfKind } from './objects/resources.js'

const RBAC = 'rbac.authorization.k8s.io/v1'

const NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'].map((name) => ({
  ...{ apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
}))

const PRIORITY_CLASSES = [
  ['system-cluster-critical', 2_000_000_000],
  ['system-node-critical', 2_000_001_000],
].map(([name, value]) => ({
  ...{ apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name }, value },
}))

/** What anybody may ask, and what anybody may who has shown who he is. */
const RULES = [
  ...publicRules(
    'system:public-info-viewer',
    ['system:authenticated', 'system:unauthenticated'],
    [...['/healthz', '/livez', '/readyz', '/version', '/version/']],
  ),
  ...publicRules(
    'system:discovery',
    ['system:authenticated'],
    [
      ...['/api', '/api/*', '/apis', '/apis/*', '/openapi', '/openapi/*'],
      ...['/healthz', '/livez', '/readyz', '/version', '/version/'],
    ],
  ),
]

/** Creates what is in every cluster from the start, and what the caller gives besides, in this order. */
export function bootstrap(registry: Registry, objects: readonly JsonObject[]): void {
  for (const object of [...NAMESPACES, ...PRIORITY_CLASSES, ...RULES, ...objects]) create(registry, object)
}

function create(registry: Registry, object: JsonObject): void {
  const resource = resourceOfKind(String(object.apiVersion), String(object.kind))
  if (resource === undefined) throw new Error(`There is no kind ${object.kind} in ${object.apiVersion}`)
  const { namespace = 'default' } = object.metadata as { namespace?: string }
  registry.create(resource, resource.namespaced ? namespace : '', object)
}

function publicRules(name: string, groups: readonly string[], nonResourceURLs: readonly string[]) {
  const subjects = groups.map((group) => ({
    apiGroup: 'rbac.authorization.k8s.io',
    kind: 'Group',
    name: group,
  }))
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name }
  return [
    {
      apiVersion: RBAC,
      kind: 'ClusterRole',
      metadata: { name },
      rules: [{ nonResourceURLs, verbs: ['get'] }],
    },
    { apiVersion: RBAC, kind: 'ClusterRoleBinding', metadata: { name }, roleRef, subjects },
  ]
}
