import type { Machine, MachineType } from '../core/model.js'

/** A call the provider accepted and works on. Null: it was done when the call returned. */
export type Operation = string | null

export type OperationState =
  | { readonly kind: 'running' }
  | { readonly kind: 'done' }
  /** `capacity`: no room for the size; `failed`: any other end; `forgotten`: the provider no longer knows it. */
  | { readonly kind: 'capacity' | 'failed' | 'forgotten'; readonly why: string }

export interface Offering {
  readonly name: string
  readonly cpu: number
  readonly memoryMiB: number
}

export interface MachineWants {
  readonly offering: string | null
  readonly rootDiskGiB: number | null
  readonly affinityGroups: readonly string[] | null
}

/** One machine that would be changed. A want that is null stays as it is. */
export interface MachineChange {
  readonly machine: Machine
  readonly type: MachineType
  readonly wants: MachineWants
}

/** What only shows when all changes are looked at together. */
export interface Together {
  /** Reasons against the changes of a machine by its id: what all of them share, such as quota, is not enough. */
  readonly refusals: Readonly<Record<string, readonly string[]>>
  /** What an operator should know before agreeing; said in the plan, refuses nothing. */
  readonly warnings: readonly string[]
}

/**
 * The machines of one cluster at one provider. Every method throws `PortError`; every request has a deadline
 * of its own. Calls that change something return as soon as the provider accepted them; truth is `get`, never
 * an operation's end alone.
 */
export interface Machines {
  /** All machines of the cluster. */
  list(signal: AbortSignal): Promise<Machine[]>
  /** One machine, read afresh; null when the provider says it does not exist. */
  get(id: string, signal: AbortSignal): Promise<Machine | null>
  /** What the provider offers here, for the capacity recount and to refuse unknown names before anything is touched. */
  offerings(signal: AbortSignal): Promise<Offering[]>
  /** Why this machine cannot get these settings (CKS-04, CKS-05), one sentence each; empty when it can. */
  refusals(machine: Machine, wants: MachineWants, signal: AbortSignal): Promise<string[]>
  /** What no single machine shows; absent where machines share nothing. */
  together?(changes: readonly MachineChange[], signal: AbortSignal): Promise<Together>
  /** Another operation on the whole cluster, or its deletion, in words (CKS-02); null when there is none. */
  clusterOperation(signal: AbortSignal): Promise<string | null>

  /**
   * Seconds until a call that changes this machine may go out, where the provider counts them; its place in line is kept.
   * Asked before the last look, so that nothing grows old between that look and the call.
   */
  turn?(id: string): number

  stop(id: string, signal: AbortSignal): Promise<Operation>
  start(id: string, signal: AbortSignal): Promise<Operation>
  /** Only on a stopped machine (CKS-17). */
  setOffering(id: string, offering: string, signal: AbortSignal): Promise<Operation>
  /** Only on a stopped machine; grows, never shrinks. */
  growRootDisk(id: string, sizeGiB: number, signal: AbortSignal): Promise<Operation>
  /** Only on a stopped machine. Replaces the groups that are no explicit dedication; those stay (CKS-05). */
  setAffinityGroups(id: string, names: readonly string[], signal: AbortSignal): Promise<Operation>
  operation(operation: string, signal: AbortSignal): Promise<OperationState>
}
