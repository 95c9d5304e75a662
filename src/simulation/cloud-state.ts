import type { AffinityGroup, MachineType, PowerState } from '../core/model.js'

/** Everything a simulated cloud knows: plain data, to be read and changed by tests. */
export interface CloudState {
  readonly offerings: SimulatedOffering[]
  /** The groups that exist; a machine can be put into no other. */
  readonly affinityGroups: AffinityGroup[]
  readonly clusters: Record<string, SimulatedCloudCluster>
  /** By id. */
  readonly machines: Record<string, SimulatedMachine>
  /** By id. */
  readonly operations: Record<string, CloudOperation>
  readonly delays: SimulatedDelays
}

export interface SimulatedOffering {
  readonly name: string
  readonly cpu: number
  readonly memoryMiB: number
}

/** How long things take. 0 is allowed. */
export interface SimulatedDelays {
  stopMs: number
  /** Offering, disk and affinity groups alike. */
  changeMs: number
  startMs: number
  /** From a running machine to a kubelet, an etcd member and an API server that answer. */
  bootMs: number
}

export interface SimulatedCloudCluster {
  readonly name: string
  /** An operation on the whole cluster, or its deletion, in words. */
  operation: string | null
  /** Id of the member that leads, and how often that has changed. */
  etcdLeader: string | null
  etcdTerm: number
  etcdIndex: number
}

export type SimulatedPower = Exclude<PowerState, 'unknown'>

export interface SimulatedMachine {
  readonly id: string
  /** Its host name. */
  readonly name: string
  readonly displayName: string
  readonly cluster: string
  readonly type: MachineType
  readonly providerId: string
  /** Address on the nodes' network; nothing listens there. */
  readonly ip: string
  offering: string
  rootDiskGiB: number
  rootDiskFixed: string | null
  affinityGroups: AffinityGroup[]
  /** Names of the groups that were honoured when the machine last started. */
  placement: string[]
  power: SimulatedPower
  /** Id of the operation in progress. */
  operation: string | null
  /** When it last began to run (milliseconds since 1970); null while it is off. */
  upSince: number | null
  readonly nodeLabels: Record<string, string>
  readonly nodeTaints: SimulatedTaint[]
  /** Null on machines that run no etcd. */
  readonly etcd: SimulatedEtcdMember | null
  /** Null on machines that run no API server. */
  readonly apiServer: SimulatedApiServer | null
}

export interface SimulatedTaint {
  readonly key: string
  readonly value?: string
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute'
}

/** What to change in order to see a sick member; it is reachable only while its machine runs. */
export interface SimulatedEtcdMember {
  /** 64-bit id as text. */
  readonly id: string
  learner: boolean
  /** False: the member list does not name it. */
  listed: boolean
  healthy: boolean
  reason: string
  /** Entries its raft index is behind the leader's. */
  lag: number
  /** Comes up so long after the machine's own boot. */
  joinMs: number
}

export interface SimulatedApiServer {
  ready: boolean
  reason: string
}

export type Act =
  | { readonly kind: 'stop' }
  | { readonly kind: 'start' }
  | { readonly kind: 'setOffering'; readonly offering: string }
  | { readonly kind: 'growRootDisk'; readonly sizeGiB: number }
  | { readonly kind: 'setAffinityGroups'; readonly names: readonly string[] }

export interface CloudOperation {
  readonly id: string
  readonly act: Act
  readonly machine: string
  state: 'running' | 'done' | 'capacity' | 'failed'
  why: string | null
  /** A forgotten operation goes on, but asking for it answers 404. */
  forgotten: boolean
}

/** Sizes to choose from where nothing else is said. */
export const SIMULATED_OFFERINGS: readonly SimulatedOffering[] = [
  { name: 'small', cpu: 2, memoryMiB: 4096 },
  { name: 'medium', cpu: 4, memoryMiB: 8192 },
  { name: 'large', cpu: 8, memoryMiB: 16384 },
  { name: 'xlarge', cpu: 16, memoryMiB: 32768 },
]

export const NO_DELAYS: Readonly<SimulatedDelays> = { stopMs: 0, changeMs: 0, startMs: 0, bootMs: 0 }
