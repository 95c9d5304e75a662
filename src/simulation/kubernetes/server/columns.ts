import { BUDGETS, type Budget } from '../kinds/budget.js'
import { EVENTS, type KubernetesEvent } from '../kinds/event.js'
import { LEASES, type Lease } from '../kinds/lease.js'
import { NAMESPACES, type Namespace } from '../kinds/namespace.js'
import { NODES, type Node } from '../kinds/node.js'
import { PODS, type Pod } from '../kinds/pod.js'
import { DAEMON_SETS, DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, type Workload } from '../kinds/workload.js'
import { type ApiObject, type Condition, isTerminating } from '../objects/api-object.js'
import type { Resource } from '../objects/resource.js'

type Cell = string | number

/** By the heading, in the order in which kubectl prints them. */
export type Columns = Readonly<Record<string, Cell>>

const COLUMNS = new Map<Resource, (object: never) => Columns>([
  [NODES, nodeColumns],
  [PODS, podColumns],
  [NAMESPACES, (namespace: Namespace) => between(namespace, { Status: namespace.status.phase })],
  [DEPLOYMENTS, deploymentColumns],
  [REPLICA_SETS, replicaSetColumns],
  [STATEFUL_SETS, (set: Workload) => between(set, { Ready: readyOf(set) })],
  [DAEMON_SETS, daemonSetColumns],
  [BUDGETS, budgetColumns],
  [LEASES, (lease: Lease) => between(lease, { Holder: lease.spec.holderIdentity ?? '' })],
  [EVENTS, eventColumns],
])

/** What kubectl prints of an object. */
export function columnsOf(resource: Resource, object: ApiObject): Columns {
  return COLUMNS.get(resource)?.(object as never) ?? between(object, {})
}

/** Name and age stand around the others, mostly. */
function between({ metadata }: ApiObject, columns: Columns): Columns {
  return { Name: metadata.name, ...columns, Age: ageOf(metadata.creationTimestamp) }
}

function readyOf({ spec, status }: Workload): string {
  return `${status.readyReplicas ?? 0}/${spec.replicas}`
}

/** `8m`, `3d4h`: as kubectl tells ages. */
function ageOf(since: string | undefined): string {
  if (since === undefined) return '<unknown>'
  const seconds = Math.max(0, Math.floor((Date.now() - Date.parse(since)) / 1000))
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  const days = Math.floor(hours / 24)
  if (seconds < 120) return `${seconds}s`
  if (minutes < 10) return `${minutes}m${seconds % 60 === 0 ? '' : `${seconds % 60}s`}`
  if (hours < 3) return `${minutes}m`
  if (hours < 8) return `${hours}h${minutes % 60 === 0 ? '' : `${minutes % 60}m`}`
  if (hours < 48) return `${hours}h`
  return days < 8 && hours % 24 !== 0 ? `${days}d${hours % 24}h` : `${days}d`
}

const ROLE = 'node-role.kubernetes.io/'

function nodeColumns({ metadata, spec, status }: Node): Columns {
  const roles = Object.keys(metadata.labels ?? {})
    .filter((key) => key.startsWith(ROLE))
    .map((key) => key.slice(ROLE.length))
  const ready = status.conditions?.find(({ type }) => type === 'Ready')
  return {
    Name: metadata.name,
    Status: readiness(ready) + (spec.unschedulable === true ? ',SchedulingDisabled' : ''),
    Roles: roles.sort().join(',') || '<none>',
    Age: ageOf(metadata.creationTimestamp),
    Version: status.nodeInfo?.kubeletVersion ?? '',
  }
}

function readiness(ready: Condition | undefined): string {
  if (ready === undefined) return 'Unknown'
  return ready.status === 'True' ? 'Ready' : 'NotReady'
}

function podColumns(pod: Pod): Columns {
  const { containerStatuses = [], phase, podIP = '<none>' } = pod.status
  const ready = containerStatuses.filter((container) => container.ready).length
  const restarts = containerStatuses.map(({ restartCount = 0 }) => restartCount)
  return {
    ...between(pod, {
      Ready: `${ready}/${pod.spec.containers.length}`,
      Status: isTerminating(pod) ? 'Terminating' : phase,
      Restarts: Math.max(0, ...restarts),
    }),
    ...{ IP: podIP, Node: pod.spec.nodeName ?? '<none>' },
  }
}

function deploymentColumns(deployment: Workload): Columns {
  const { updatedReplicas = 0, availableReplicas = 0 } = deployment.status
  return between(deployment, {
    ...{ Ready: readyOf(deployment), 'Up-to-date': updatedReplicas, Available: availableReplicas },
  })
}

function replicaSetColumns(set: Workload): Columns {
  const { replicas = 0, readyReplicas = 0 } = set.status
  return between(set, { Desired: set.spec.replicas ?? 0, Current: replicas, Ready: readyReplicas })
}

function daemonSetColumns(set: Workload): Columns {
  const { status } = set
  return between(set, {
    Desired: status.desiredNumberScheduled ?? 0,
    Current: status.currentNumberScheduled ?? 0,
    Ready: status.numberReady ?? 0,
    'Up-to-date': status.updatedNumberScheduled ?? 0,
    Available: status.numberAvailable ?? 0,
  })
}

function budgetColumns(budget: Budget): Columns {
  const { spec, status } = budget
  return between(budget, {
    'Min available': spec.minAvailable ?? 'N/A',
    'Max unavailable': spec.maxUnavailable ?? 'N/A',
    'Allowed disruptions': status.disruptionsAllowed,
  })
}

function eventColumns({ metadata, ...event }: KubernetesEvent): Columns {
  const { kind = '', name = '' } = event.involvedObject
  return {
    'Last seen': ageOf(event.lastTimestamp ?? metadata.creationTimestamp),
    Type: event.type ?? '',
    Reason: event.reason ?? '',
    Object: `${kind.toLowerCase()}/${name}`,
    Message: event.message ?? '',
  }
}
