import { randomBytes } from 'node:crypto'
import type { MachineType } from '../core/model.js'
import type { CloudState, SimulatedMachine, SimulatedTaint } from './cloud-state.js'

export interface NewMachine {
  readonly cluster: string
  /** Its host name, and so that of its Node. */
  readonly name: string
  /** What the cloud calls it, where that is something else. */
  readonly displayName?: string
  readonly type: MachineType
  readonly offering?: string
  readonly rootDiskGiB?: number
  readonly rootDiskFixed?: string
  /** Names of groups the cloud has. */
  readonly affinityGroups?: readonly string[]
  readonly power?: 'running' | 'stopped'
  readonly nodeLabels?: Readonly<Record<string, string>>
  readonly nodeTaints?: readonly SimulatedTaint[]
  /** Default: yes on `etcd` machines, and on `control` machines unless told otherwise. */
  readonly etcdMember?: boolean
}

/** The machine `wanted` as the cloud's `count`th; what is left out is small, running and in no group. */
export function newMachine(wanted: NewMachine, count: number, state: CloudState): SimulatedMachine {
  const { cluster, name, type, affinityGroups = [] } = wanted
  const id = `m-${count}`
  const running = (wanted.power ?? 'running') === 'running'
  const holdsEtcd = wanted.etcdMember ?? type !== 'worker'
  return {
    ...{ id, name, cluster, type, displayName: wanted.displayName ?? name },
    providerId: `simulated://${cluster}/${id}`,
    ip: `10.${(count >> 16) & 255}.${(count >> 8) & 255}.${count & 255}`,
    offering: wanted.offering ?? state.offerings[0]?.name ?? 'none',
    rootDiskGiB: wanted.rootDiskGiB ?? 64,
    rootDiskFixed: wanted.rootDiskFixed ?? null,
    affinityGroups: state.affinityGroups.filter((group) => affinityGroups.includes(group.name)),
    placement: running ? [...affinityGroups] : [],
    power: running ? 'running' : 'stopped',
    operation: null,
    upSince: running ? Date.now() : null,
    nodeLabels: { ...wanted.nodeLabels },
    nodeTaints: [...(wanted.nodeTaints ?? [])],
    etcd: holdsEtcd
      ? { id: memberId(), learner: false, listed: true, healthy: true, reason: '', lag: 0, joinMs: 0 }
      : null,
    apiServer: type === 'control' ? { ready: true, reason: '' } : null,
  }
}

/** 64 bits, as etcd has them. */
function memberId(): string {
  return randomBytes(8).readBigUInt64BE().toString()
}
