import type { ApiObject, Condition } from '../objects/api-object.js'
import { defineResource, type FieldProblem } from '../objects/resource.js'

export interface Node extends ApiObject {
  readonly spec: NodeSpec
  readonly status: NodeStatus
}

export interface NodeSpec {
  readonly unschedulable?: boolean
  readonly providerID?: string
  readonly taints?: readonly Taint[]
}

export interface NodeStatus {
  readonly conditions?: readonly Condition[]
  readonly capacity?: Readonly<Record<string, string>>
  readonly allocatable?: Readonly<Record<string, string>>
  readonly addresses?: readonly { readonly type: string; readonly address: string }[]
  readonly nodeInfo?: Readonly<Record<string, string>>
}

export interface Taint {
  readonly key: string
  readonly value?: string
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute'
  readonly timeAdded?: string
}

export const NOT_READY = 'node.kubernetes.io/not-ready'

const BLANK_INFO = {
  machineID: '',
  systemUUID: '',
  bootID: '',
  kernelVersion: '',
  osImage: '',
  containerRuntimeVersion: '',
  kubeletVersion: '',
  kubeProxyVersion: '',
  operatingSystem: '',
  architecture: '',
}

export const NODES = defineResource<Node>({
  group: '',
  kind: 'Node',
  namespaced: false,
  shortNames: ['no'],
  hasStatus: true,
  fields: ['spec.unschedulable'],
  complete(object, stored) {
    const { unschedulable, ...spec } = object.spec ?? {}
    const status: NodeStatus = object.status ?? {}
    // Nobody's pods go to a node before its kubelet has said that it is ready.
    const taints = stored === null ? withNotReady(spec.taints ?? []) : spec.taints
    return {
      ...object,
      spec: {
        ...spec,
        ...(unschedulable === true ? { unschedulable } : {}),
        ...(taints === undefined ? {} : { taints }),
      },
      status: {
        ...{ daemonEndpoints: { kubeletEndpoint: { Port: 0 } } },
        ...status,
        ...(status.conditions === undefined ? {} : { conditions: status.conditions.map(withTimes) }),
        ...(status.capacity !== undefined && status.allocatable === undefined
          ? { allocatable: status.capacity }
          : {}),
        nodeInfo: { ...BLANK_INFO, ...status.nodeInfo },
      },
    }
  },
  problems(object, stored) {
    const problems: FieldProblem[] = []
    const before = stored?.spec.providerID
    if (before !== undefined && object.spec.providerID !== before) {
      problems.push({
        reason: 'FieldValueForbidden',
        field: 'spec.providerID',
        message: 'Forbidden: node updates may not change providerID except from "" to valid',
      })
    }
    for (const [index, { key, effect }] of (object.spec.taints ?? []).entries()) {
      if (!key || !['NoSchedule', 'PreferNoSchedule', 'NoExecute'].includes(effect)) {
        const message = `Invalid value: a taint needs a key and an effect: ${key}:${effect}`
        problems.push({ reason: 'FieldValueInvalid', field: `spec.taints[${index}]`, message })
      }
    }
    return problems
  },
})

/** The server writes these times also when nobody has said them. */
function withTimes(condition: Condition): Condition {
  return { ...{ lastHeartbeatTime: null, lastTransitionTime: null }, ...condition }
}

function withNotReady(taints: readonly Taint[]): readonly Taint[] {
  if (taints.some(({ key, effect }) => key === NOT_READY && effect === 'NoSchedule')) return taints
  return [...taints, { key: NOT_READY, effect: 'NoSchedule' }]
}
