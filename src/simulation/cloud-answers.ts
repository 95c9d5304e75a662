import type { CloudCall } from './cloud-calls.js'
import type { CloudOperations } from './cloud-operations.js'
import { judge, wordsOf } from './cloud-rules.js'
import type { Act, CloudState, SimulatedCloudCluster, SimulatedMachine } from './cloud-state.js'
import {
  apiServerReady,
  etcdHealth,
  etcdStatus,
  type HealthAnswer,
  memberList,
  moveLeader,
} from './control-plane-health.js'
import type { FaultEffect } from './faults.js'

export interface Answer {
  readonly status: number
  /** Text is sent as it is, everything else as JSON. */
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Carries a call out and gives its answer; null when nobody is there to answer. */
export function answerCall(
  state: CloudState,
  operations: CloudOperations,
  call: CloudCall,
  fault: FaultEffect | null,
  tookEffect: () => void,
): Answer | null {
  switch (call.call) {
    case 'offerings':
      return ok({ offerings: state.offerings })
    case 'affinityGroups':
      return ok({ affinityGroups: state.affinityGroups })
    case 'list':
    case 'cluster':
    case 'etcdMembers': {
      const cluster = state.clusters[call.cluster]
      if (cluster === undefined) return problem(404, 'NotFound', `no cluster ${call.cluster}`)
      return answerCluster(state, cluster, call.call)
    }
    case 'moveLeader': {
      const cluster = state.clusters[call.cluster]
      if (cluster === undefined) return problem(404, 'NotFound', `no cluster ${call.cluster}`)
      return moveLeader(state, cluster, call.to)
    }
    case 'operation': {
      const operation = state.operations[call.operation]
      if (operation === undefined || operation.forgotten) {
        return problem(404, 'NotFound', `no operation ${call.operation}`)
      }
      const { id, act, machine, state: progress, why } = operation
      return ok({ id, call: act.kind, machine, state: progress, why })
    }
    case 'other':
      return problem(call.why.startsWith('no such') ? 404 : 400, 'InvalidRequest', call.why)
    default: {
      const machine = state.machines[call.machine]
      if (machine === undefined) return problem(404, 'NotFound', `no machine ${call.machine}`)
      if ('act' in call) return answerAct(state, operations, machine, call.act, fault, tookEffect)
      return answerMachine(state, machine, call.call)
    }
  }
}

export function problem(status: number, code: string, message: string): Answer {
  return { status, body: { code, message } }
}

function answerCluster(
  state: CloudState,
  cluster: SimulatedCloudCluster,
  call: 'list' | 'cluster' | 'etcdMembers',
): Answer | null {
  if (call === 'cluster') return ok({ name: cluster.name, operation: cluster.operation })
  if (call === 'etcdMembers') return memberList(state, cluster)
  const machines = Object.values(state.machines).filter((machine) => machine.cluster === cluster.name)
  return ok({ machines: machines.map((machine) => describe(state, machine)) })
}

function answerMachine(
  state: CloudState,
  machine: SimulatedMachine,
  call: 'get' | 'etcdHealth' | 'etcdStatus' | 'readyz',
): HealthAnswer {
  const cluster = state.clusters[machine.cluster]
  if (call === 'get' || cluster === undefined) return ok(describe(state, machine))
  if (call === 'etcdHealth') return etcdHealth(state, cluster, machine)
  if (call === 'etcdStatus') return etcdStatus(state, cluster, machine)
  return apiServerReady(state, cluster, machine)
}

function answerAct(
  state: CloudState,
  operations: CloudOperations,
  machine: SimulatedMachine,
  act: Act,
  fault: FaultEffect | null,
  tookEffect: () => void,
): Answer {
  const verdict = judge(state, machine, act)
  if (verdict.kind === 'refused') return problem(verdict.status, verdict.code, verdict.message)
  if (verdict.kind === 'nothingToDo') return ok({ operation: null })
  const operation = operations.begin(machine, act, fault, tookEffect)
  return { status: 202, body: { operation: operation.id } }
}

function describe(state: CloudState, machine: SimulatedMachine): unknown {
  const { id, name: hostname, displayName: name, cluster, type, providerId, power, offering } = machine
  const { rootDiskGiB, rootDiskFixed, affinityGroups, placement } = machine
  const size = state.offerings.find((one) => one.name === offering)
  return {
    ...{ id, name, hostname, cluster, type, providerId, power, operation: wordsOf(state, machine) },
    ...{ offering, cpu: size?.cpu ?? 0, memoryMiB: size?.memoryMiB ?? 0 },
    ...{ rootDiskGiB, rootDiskFixed, affinityGroups, placement },
  }
}

function ok(body: unknown): Answer {
  return { status: 200, body }
}
