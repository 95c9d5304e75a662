import { BUDGETS } from '../kinds/budget.js'
import { CONFIG_MAPS } from '../kinds/config-map.js'
import { EVENTS } from '../kinds/event.js'
import { LEASES } from '../kinds/lease.js'
import { NAMESPACES } from '../kinds/namespace.js'
import { NODES } from '../kinds/node.js'
import { PODS } from '../kinds/pod.js'
import { PRIORITY_CLASSES } from '../kinds/priority-class.js'
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES } from '../kinds/rbac.js'
import { CLAIMS, VOLUME_ATTACHMENTS } from '../kinds/volume.js'
import { DAEMON_SETS, DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS } from '../kinds/workload.js'
import { defineResource, type Resource, type Verb } from './resource.js'

/** Of these there are never any: nothing here would act on them, so none can be made. */
const EMPTY: readonly Verb[] = ['get', 'list', 'watch', 'deletecollection']

const never = (group: string, kind: string, namespaced: boolean, plural = `${kind.toLowerCase()}s`) =>
  defineResource({ group, kind, namespaced, plural, verbs: EMPTY })

/** Everything that can be asked for. */
export const RESOURCES: readonly Resource[] = [
  ...[NAMESPACES, NODES, PODS, CONFIG_MAPS, EVENTS],
  ...[DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, DAEMON_SETS],
  ...[BUDGETS, LEASES, PRIORITY_CLASSES, CLAIMS, VOLUME_ATTACHMENTS],
  ...[CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, ROLES, ROLE_BINDINGS],
  never('', 'PersistentVolume', false),
  never('', 'ReplicationController', true),
  never('batch', 'Job', true),
  never('batch', 'CronJob', true),
  never('admissionregistration.k8s.io', 'ValidatingWebhookConfiguration', false),
  never('admissionregistration.k8s.io', 'MutatingWebhookConfiguration', false),
  never('admissionregistration.k8s.io', 'ValidatingAdmissionPolicy', false, 'validatingadmissionpolicies'),
  never('admissionregistration.k8s.io', 'ValidatingAdmissionPolicyBinding', false),
]

export function findResource(group: string, version: string, plural: string): Resource | undefined {
  return RESOURCES.find((one) => one.group === group && one.version === version && one.plural === plural)
}

export function isServed(group: string, version: string): boolean {
  return RESOURCES.some((one) => one.group === group && one.version === version)
}

/** The resource behind `apiVersion` and `kind`, as owner references give them. */
export function resourceOfKind(apiVersion: string, kind: string): Resource | undefined {
  const words = apiVersion.split('/')
  const version = words.pop()
  const group = words.join('/')
  return RESOURCES.find((one) => one.group === group && one.version === version && one.kind === kind)
}
