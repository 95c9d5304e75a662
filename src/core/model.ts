/** The records every decision is made on. Plain data: what a port read, never a foreign object. */

export type MachineType = 'control' | 'worker' | 'etcd'

/** Order in which types are rolled (CKS-08). */
export const TYPE_ORDER: readonly MachineType[] = ['etcd', 'control', 'worker']

/** `unknown` is what a read that failed leaves behind. It is never treated as any of the others. */
export type PowerState = 'running' | 'stopped' | 'starting' | 'stopping' | 'unknown'

export interface AffinityGroup {
  readonly name: string
  /** Explicit dedication is kept on the machine, refused in settings and never compared (CKS-05). */
  readonly explicitDedication: boolean
}

export interface Machine {
  /** The provider's own id: stable over stop, resize and start. */
  readonly id: string
  readonly name: string
  /** As on the Node's `spec.providerID`; null where the provider has none (then matched by name). */
  readonly providerId: string | null
  readonly power: PowerState
  /** A provider operation in progress on this machine, in words, or null. */
  readonly operation: string | null
  readonly offering: string
  readonly rootDiskGiB: number | null
  /** Why the root disk can never change size (CKS-04), or null when it can grow. */
  readonly rootDiskFixed: string | null
  readonly affinityGroups: readonly AffinityGroup[]
  /** Null where the provider does not say what the offering has (it may be sold no more); so for memory. */
  readonly cpu: number | null
  readonly memoryMiB: number | null
}

export type Readiness = 'ready' | 'notReady' | 'unknown'

export interface NodeRecord {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  readonly providerId: string | null
  readonly labels: Readonly<Record<string, string>>
  /** Only those that noderoll may set while it works on the node (`ADDED_ANNOTATIONS`). */
  readonly annotations: Readonly<Record<string, string>>
  /** Null when empty, masked or shared with another node: such a boot id proves nothing. */
  readonly bootId: string | null
  readonly ready: Readiness
  /** Since when `ready` is unknown, in the words of the node lifecycle controller: no node writes that itself. */
  readonly unknownSince?: string
  readonly unschedulable: boolean
  readonly controlPlane: boolean
  readonly ephemeralStorageKiB: number | null
  /** Another tool that takes nodes down is at work on this one, in words; null when none says so. */
  readonly busyWith: string | null
  readonly marks: Marks
}

/** What noderoll wrote on a node. Each is one annotation (`noderoll.io/…`). */
export interface Marks {
  /** `noderoll.io/rollout-boot-id`: the boot id before the stop. There only where noderoll cordoned the node (CKS-15). */
  readonly bootId: string | null
  readonly attempt: AttemptMark | null
  readonly acting: ActingMark | null
  readonly failure: FailureMark | null
  readonly quarantine: QuarantineMark | null
  /** Annotations of ours that could not be read: the node is somebody's to look at, never "unmarked". */
  readonly unreadable: readonly string[]
}

/** `noderoll.io/attempt`: whose work this node is in, and how to put it back. On every node of a batch. */
export interface AttemptMark {
  /** Lease holder identity of the rollout. */
  readonly rollout: string
  /** The workflow run whose activities may act; a reset makes another one (CKS-24). */
  readonly run: string
  /** One per batch: an old attempt that wakes up finds another token and does nothing. */
  readonly token: string
  readonly at: string
  /** Boot id found, also where somebody else had cordoned the node. Null for a stopped machine that has none. */
  readonly bootId: string | null
  readonly uid: string
  /** Everything noderoll added, with the value there before (null: there was none). */
  readonly added: Added
  /** The node carried marks before: an undo leaves it cordoned. Absent from a worker of before. */
  readonly foundMarked?: boolean
}

export interface Added {
  readonly labels: Readonly<Record<string, string | null>>
  readonly annotations: Readonly<Record<string, string | null>>
}

/** `noderoll.io/acting`: written and read back right before the first act. */
export interface ActingMark {
  readonly act: string
  readonly at: string
  readonly rollout: string
  /** Token of the attempt that acts: tells this batch's act from one that an earlier rollout left behind. */
  readonly token: string
}

/** `noderoll.io/failure` (K2). */
export interface FailureMark {
  readonly step: string
  readonly reason: string
  readonly machine: string
  readonly at: string
  readonly rollout: string
}

/** `noderoll.io/quarantine`: its drain could not end; it stays cordoned until a rollout can drain it. */
export interface QuarantineMark {
  readonly reason: string
  readonly at: string
  readonly rollout: string
}

/** One write to a Node, carried out as one merge patch with the resourceVersion it was decided on. */
export interface NodeChange {
  readonly unschedulable?: boolean
  /** Null removes. */
  readonly annotations?: Readonly<Record<string, string | null>>
  readonly labels?: Readonly<Record<string, string | null>>
}

/** Settings of one pool. `null` is "not recorded": not compared, left alone (CKS-03). */
export interface PoolSettings {
  /** In order of preference; any of them is up to date (CKS-01). */
  readonly offerings: readonly string[] | null
  readonly rootDiskGiB: number | null
  readonly affinityGroups: readonly string[] | null
}

/** How the nodes of a pool are found (CKS-00). */
export type Selector =
  | { readonly kind: 'controlPlaneRole' }
  | { readonly kind: 'rest' }
  | { readonly kind: 'labels'; readonly labels: Readonly<Record<string, string>> }
  | { readonly kind: 'machines'; readonly names: readonly string[] }

export type MaxUnavailable = { readonly count: number } | { readonly percent: number }

export interface PoolSpec {
  readonly name: string
  readonly type: MachineType
  /** Null where the request does not say: the stored one, or what the type implies. */
  readonly select: Selector | null
  /** Asked for in this request; null where the request does not name the property. */
  readonly asked: PoolSettings
  readonly maxUnavailable: MaxUnavailable
}

/** A machine of a pool with its Node, where it has one. */
export interface Member {
  readonly pool: string
  readonly type: MachineType
  readonly machine: Machine
  readonly node: NodeRecord | null
}

/** The name an operator knows a member by. */
export function nameOf(member: Member): string {
  return member.node?.name ?? member.machine.name
}

export interface EtcdMember {
  /** 64-bit id as text: never a JS number. */
  readonly id: string
  /** The machine or node that runs it. */
  readonly name: string
  readonly learner: boolean
  readonly health: 'healthy' | 'unhealthy' | 'unknown'
  /** False while its raft index lags; such a voter counts as down (CKS-13). */
  readonly caughtUp: boolean
  /** Raft entries it has yet to apply to be where the furthest member is; null where it did not tell. */
  readonly behind: number | null
  readonly leader: boolean
  /** Alarms raised on it, in etcd's words (`NOSPACE`: etcd takes no writes). Empty where they cannot be asked for. */
  readonly alarms: readonly string[]
}

/** What could be seen of etcd. `unknown` stops; it is never "no members". */
export type EtcdView =
  | {
      readonly kind: 'members'
      readonly members: readonly EtcdMember[]
      /** Names that there should be members of, as the spec or the static pods say, whatever etcd lists. */
      readonly expected?: readonly string[]
    }
  | { readonly kind: 'unknown'; readonly why: string }

/** An answer with its reason. */
export type Health = { readonly kind: 'ok' } | { readonly kind: 'notOk' | 'unknown'; readonly why: string }

/** One thing wrong with a request or a cluster: where, what, and what to do about it. */
export interface Problem {
  readonly where: string
  readonly what: string
  readonly fix: string
}

export const NO_SETTINGS: PoolSettings = { offerings: null, rootDiskGiB: null, affinityGroups: null }
export const NO_MARKS: Marks = {
  bootId: null,
  attempt: null,
  acting: null,
  failure: null,
  quarantine: null,
  unreadable: [],
}

/** Does the node carry anything of ours? */
export function isMarked(marks: Marks): boolean {
  return (
    marks.bootId !== null ||
    marks.attempt !== null ||
    marks.acting !== null ||
    marks.failure !== null ||
    marks.quarantine !== null ||
    marks.unreadable.length > 0
  )
}

/** The boot id that was there before the act, from whichever mark has it. */
export function baselineBootId(marks: Marks): string | null {
  return marks.bootId ?? marks.attempt?.bootId ?? null
}
