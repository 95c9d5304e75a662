import type { MachineType, MaxUnavailable, PoolSettings } from './model.js'

/**
 * What a batch does with a node.
 * - `roll`: drain, stop, change, start, verify.
 * - `start`: the machine is stopped; change what differs, start, verify. Nothing to drain.
 * - `return`: came back by itself; verify and give back, no restart (CKS-22).
 */
export type How = 'roll' | 'start' | 'return'

/** Names and ids only: this is what travels in workflow payloads. */
export interface BatchNode {
  /** Null for a machine without a Node: external etcd, or one whose Node was deleted while it was off. */
  readonly node: string | null
  readonly machineId: string
  readonly machineName: string
  readonly providerId: string | null
  readonly pool: string
  readonly type: MachineType
  readonly how: How
  /** Does it run an etcd member that has to be a healthy voter again (CKS-18)? */
  readonly etcdMember: boolean
  /** In words, for summaries and events. */
  readonly why: string
  readonly was: MachineSettings
  readonly wants: PoolSettings
}

/** The settings a machine has, to be written back when the new ones cannot be had (K2). */
export interface MachineSettings {
  readonly offering: string
  readonly rootDiskGiB: number | null
  readonly affinityGroups: readonly string[]
}

export interface Batch {
  readonly pool: string
  readonly type: MachineType
  /** Stopped and marked nodes first (CKS-11). */
  readonly recovery: boolean
  /** Nodes that this rollout put in quarantine, tried once more at the end. */
  readonly again?: true
  readonly nodes: readonly BatchNode[]
}

/** A node left as it is, and why (CKS-14, CKS-25). */
export interface Skip {
  readonly name: string
  readonly pool: string
  readonly why: string
}

/** What the workflow carries from batch to batch besides what the cluster itself says. */
export interface Position {
  readonly leave: readonly Skip[]
  readonly maxUnavailable: Readonly<Record<string, MaxUnavailable>>
  /** Machines in quarantine that this rollout has tried again: each gets one more try, not more. */
  readonly retried?: readonly string[]
}

export const START_POSITION: Position = { leave: [], maxUnavailable: {} }

/** Counts per pool for progress and result. */
export interface PoolCounts {
  readonly pool: string
  readonly type: MachineType
  readonly machines: number
  readonly outOfDate: number
  readonly unavailable: number
}

/** The name an operator knows a batch node by. */
export function batchNodeName(node: Pick<BatchNode, 'node' | 'machineName'>): string {
  return node.node ?? node.machineName
}
