import { type ApiObject, type Condition, isJsonObject, isTerminating } from './api-object.js'
import { BUDGETS, type Budget } from './kinds/budget.js'
import { EVENTS, type KubernetesEvent } from './kinds/event.js'
import { LEASES, type Lease } from './kinds/lease.js'
import { NAMESPACES, type Namespace } from './kinds/namespace.js'
import { NODES, type Node } from './kinds/node.js'
import { PODS, type Pod } from './kinds/pod.js'
import { DAEMON_SETS, DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, type Workload } from './kinds/workload.js'
import type { Resource } from './resource.js'

type Cell = string | number

/** By the heading, in the order in which kubectl prints them; name and age stand around them. */
export type Columns = Readonly<Record<string, Cell>>

const COLUMNS = new Map<Resource, (object: never) => Columns>([
  [NODES, nodeColumns],
  [PODS, podColumns],
  [NAMESPACES, ({ status }: Namespace) => ({ Status: status.phase })],
  [DEPLOYMENTS, deploymentColumns],
  [REPLICA_SETS, replicaSetColumns],
  [
    STATEFUL_SETS,
    ({ spec, status }: Workload) => ({ Ready: `${status.readyReplicas ?? 0}/${spec.replicas}` }),
  ],
  [DAEMON_SETS, daemonSetColumns],
  [BUDGETS, budgetColumns],
  [LEASES, ({ spec }: Lease) => ({ Holder: spec.holderIdentity ?? '' })],
  [EVENTS, eventColumns],
])

export function columnsOf(resource: Resource, object: ApiObject): Columns {
  return COLUMNS.get(resource)?.(object as never) ?? {}
}

/** `8m`, `3d4h`: as kubectl tells ages. */
export function ageOf(since: string | undefined, nowMs: number): string {
  if (since === undefined) return '<unknown>'
  const seconds = Math.max(0, Math.floor((nowMs - Date.parse(since)) / 1000))
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
    Status: readiness(ready) + (spec.unschedulable === true ? ',SchedulingDisabled' : ''),
    Roles: roles.sort().join(',') || '<none>',
    Version: status.nodeInfo?.kubeletVersion ?? '',
  }
}

function readiness(ready: Condition | undefined): string {
  if (ready === undefined) return 'Unknown'
  return ready.status === 'True' ? 'Ready' : 'NotReady'
}

function podColumns(pod: Pod): Columns {
  const { containerStatuses = [], phase } = pod.status
  const ready = containerStatuses.filter((container) => container.ready).length
  const restarts = containerStatuses.map(({ restartCount = 0 }) => restartCount)
  return {
    Ready: `${ready}/${pod.spec.containers.length}`,
    Status: isTerminating(pod) ? 'Terminating' : phase,
    Restarts: Math.max(0, ...restarts),
    IP: pod.status.podIP ?? '<none>',
    Node: pod.spec.nodeName ?? '<none>',
  }
}

function deploymentColumns({ spec, status }: Workload): Columns {
  return {
    Ready: `${status.readyReplicas ?? 0}/${spec.replicas}`,
    'Up-to-date': status.updatedReplicas ?? 0,
    Available: status.availableReplicas ?? 0,
  }
}

function replicaSetColumns({ spec, status }: Workload): Columns {
  return { Desired: spec.replicas ?? 0, Current: status.replicas ?? 0, Ready: status.readyReplicas ?? 0 }
}

function daemonSetColumns({ status }: Workload): Columns {
  return {
    Desired: status.desiredNumberScheduled ?? 0,
    Current: status.currentNumberScheduled ?? 0,
    Ready: status.numberReady ?? 0,
    'Up-to-date': status.updatedNumberScheduled ?? 0,
    Available: status.numberAvailable ?? 0,
  }
}

function budgetColumns({ spec, status }: Budget): Columns {
  return {
    'Min available': spec.minAvailable ?? 'N/A',
    'Max unavailable': spec.maxUnavailable ?? 'N/A',
    'Allowed disruptions': status.disruptionsAllowed,
  }
}

function eventColumns({ type = '', reason = '', involvedObject, message = '' }: KubernetesEvent): Columns {
  const { kind = '', name = '' } = isJsonObject(involvedObject) ? involvedObject : {}
  return { Type: type, Reason: reason, Object: `${String(kind).toLowerCase()}/${name}`, Message: message }
}
