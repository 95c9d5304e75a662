import type { SimulatedMachine, SimulatedOffering } from './cloud-state.js'
import type { KubeObject } from './kube-api.js'
import { sameQuantity } from './quantity.js'

export interface NodeObject extends KubeObject {
  readonly spec: { readonly providerID?: string; readonly unschedulable?: boolean }
  readonly status: {
    readonly conditions?: readonly NodeCondition[]
    readonly nodeInfo?: { readonly bootID: string }
    readonly capacity?: Readonly<Record<string, string>>
  }
}

export interface NodeCondition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason?: string
  readonly message?: string
  readonly lastHeartbeatTime?: string
  readonly lastTransitionTime?: string
}

/** What a kubelet has to say about its node at one moment. */
export interface NodeReport {
  readonly ready: {
    readonly status: 'True' | 'False' | 'Unknown'
    readonly reason: string
    readonly message: string
  }
  readonly bootId: string
  readonly offering: SimulatedOffering
  readonly rootFsGiB: number
  readonly pods: number
  readonly kubeletVersion: string
  /** The node's own clock, ISO. */
  readonly now: string
}

const OFFERING_LABEL = 'node.kubernetes.io/instance-type'

/** Share of a disk that is left as a file system, and of that what pods may have. */
const FILE_SYSTEM_SHARE = 0.96
const ALLOCATABLE_SHARE = 0.9
const KIB_PER_GIB = 1024 * 1024
const SYSTEM_RESERVED_MIB = 256

/** The Node a kubelet registers with. */
export function newNode(machine: SimulatedMachine, report: NodeReport): unknown {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: machine.name, labels: nodeLabels(machine) },
    spec: {
      providerID: machine.providerId,
      ...(machine.nodeTaints.length === 0 ? {} : { taints: machine.nodeTaints }),
    },
    status: { addresses: addressesOf(machine), ...statusOf(report, []) },
  }
}

export function nodeLabels(machine: SimulatedMachine): Record<string, string> {
  return {
    'kubernetes.io/hostname': machine.name,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'amd64',
    [OFFERING_LABEL]: machine.offering,
    ...machine.nodeLabels,
  }
}

/** Merge patch for the status of a running node; null when the node says all of it already. */
export function statusPatch(node: NodeObject, machine: SimulatedMachine, report: NodeReport): unknown {
  const wanted = statusOf(report, node.status.conditions ?? [])
  const { conditions, nodeInfo, capacity = {} } = node.status
  const same =
    readyOf(conditions)?.status === report.ready.status &&
    nodeInfo?.bootID === report.bootId &&
    Object.entries(wanted.capacity).every(([name, quantity]) => sameQuantity(capacity[name], quantity))
  if (same) return null
  return {
    metadata: { uid: node.metadata.uid },
    status: { addresses: addressesOf(machine), ...wanted },
  }
}

/** Merge patch that says only how ready the node is; null when it says so already. */
export function readyPatch(node: NodeObject, ready: NodeReport['ready'], now: string): unknown {
  const before = node.status.conditions ?? []
  if (readyOf(before)?.status === ready.status) return null
  return { metadata: { uid: node.metadata.uid }, status: { conditions: withReady(before, ready, now) } }
}

export function readyOf(conditions: readonly NodeCondition[] | undefined): NodeCondition | undefined {
  return conditions?.find(({ type }) => type === 'Ready')
}

function addressesOf(machine: SimulatedMachine): unknown {
  return [
    { type: 'InternalIP', address: machine.ip },
    { type: 'Hostname', address: machine.name },
  ]
}

function statusOf(report: NodeReport, before: readonly NodeCondition[]) {
  const { offering, rootFsGiB, pods, now } = report
  const diskKiB = Math.floor(rootFsGiB * FILE_SYSTEM_SHARE * KIB_PER_GIB)
  return {
    capacity: {
      cpu: String(offering.cpu),
      memory: `${offering.memoryMiB * 1024}Ki`,
      pods: String(pods),
      'ephemeral-storage': `${diskKiB}Ki`,
    },
    allocatable: {
      cpu: String(offering.cpu),
      memory: `${Math.max(0, offering.memoryMiB - SYSTEM_RESERVED_MIB) * 1024}Ki`,
      pods: String(pods),
      'ephemeral-storage': String(Math.floor(diskKiB * 1024 * ALLOCATABLE_SHARE)),
    },
    nodeInfo: {
      bootID: report.bootId,
      kubeletVersion: report.kubeletVersion,
      machineID: '',
      systemUUID: '',
      kernelVersion: '6.1.0-simulated',
      osImage: 'noderoll simulation',
      containerRuntimeVersion: 'containerd://2.1.0',
      kubeProxyVersion: '',
      operatingSystem: 'linux',
      architecture: 'amd64',
    },
    conditions: withReady(withPressures(before, now), report.ready, now),
  }
}

function withReady(
  before: readonly NodeCondition[],
  ready: NodeReport['ready'],
  now: string,
): readonly NodeCondition[] {
  return withCondition(before, { type: 'Ready', ...ready }, now)
}

function withPressures(before: readonly NodeCondition[], now: string): readonly NodeCondition[] {
  let conditions = before
  for (const resource of ['Memory', 'Disk', 'PID']) {
    const fine = {
      status: 'False',
      reason: `KubeletHasNo${resource}Pressure`,
      message: 'kubelet has no pressure',
    } as const
    conditions = withCondition(conditions, { type: `${resource}Pressure`, ...fine }, now)
  }
  return conditions
}

/** A merge patch replaces the list, so conditions of others are carried along. */
function withCondition(
  before: readonly NodeCondition[],
  condition: NodeCondition,
  now: string,
): readonly NodeCondition[] {
  const old = before.find(({ type }) => type === condition.type)
  const changedAt = old?.status === condition.status ? (old.lastTransitionTime ?? now) : now
  const fresh = { ...condition, lastHeartbeatTime: now, lastTransitionTime: changedAt }
  return [...before.filter(({ type }) => type !== condition.type), fresh]
}
