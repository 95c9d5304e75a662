import type { Batch, BatchNode, How } from '../../src/core/batch.js'
import {
  type AffinityGroup,
  type AttemptMark,
  type EtcdMember,
  type EtcdView,
  type FailureMark,
  type Machine,
  type MachineType,
  type Marks,
  type Member,
  NO_MARKS,
  NO_SETTINGS,
  type NodeRecord,
  nameOf,
  type PoolSettings,
  type QuarantineMark,
} from '../../src/core/model.js'
import type { RolloutFacts } from '../../src/core/next-batch.js'
import type { PodRecord } from '../../src/core/pods.js'
import { type ClusterRecord, EMPTY_RECORD } from '../../src/core/record.js'
import type { EffectivePool } from '../../src/core/settings.js'
import type { DrainPolicy } from '../../src/core/spec.js'

/** A healthy machine of offering `small` that runs under this name. */
export function aMachine(name: string, overrides: Partial<Machine> = {}): Machine {
  return {
    id: `id-${name}`,
    name,
    providerId: providerIdOf(name),
    power: 'running',
    operation: null,
    offering: 'small',
    rootDiskGiB: 50,
    rootDiskFixed: null,
    affinityGroups: [],
    cpu: 2,
    memoryMiB: 4096,
    ...overrides,
  }
}

/** A Ready, schedulable, unmarked node of boot id `b1` on the machine of the same name. */
export function aNode(name: string, overrides: Partial<NodeRecord> = {}): NodeRecord {
  return {
    name,
    uid: `uid-${name}`,
    resourceVersion: '1',
    providerId: providerIdOf(name),
    labels: {},
    annotations: {},
    bootId: 'b1',
    ready: 'ready',
    unschedulable: false,
    controlPlane: false,
    ephemeralStorageKiB: 50_000_000,
    busyWith: null,
    marks: NO_MARKS,
    ...overrides,
  }
}

function providerIdOf(name: string): string {
  return `sim://${name}`
}

interface MemberOverrides {
  readonly pool?: string
  readonly machine?: Partial<Machine>
  /** Null: no Node. */
  readonly node?: Partial<NodeRecord> | null
}

/** An up-to-date, healthy worker of the pool `worker`. */
export function aWorker(name: string, overrides: MemberOverrides = {}): Member {
  return memberOf('worker', name, overrides)
}

/** As `aWorker`, a control node of the pool `control`. */
export function aControl(name: string, overrides: MemberOverrides = {}): Member {
  return memberOf('control', name, overrides)
}

/** An external etcd machine of the pool `etcd`; it has no Node. */
export function anEtcd(name: string, overrides: MemberOverrides = {}): Member {
  return memberOf('etcd', name, { node: null, ...overrides })
}

function memberOf(type: MachineType, name: string, { pool, machine, node }: MemberOverrides): Member {
  return {
    pool: pool ?? type,
    type,
    machine: aMachine(name, machine),
    node: node === null ? null : aNode(name, { controlPlane: type === 'control', ...node }),
  }
}

/** `w-1`, `w-2`, …: as many members as asked for, all alike. */
export function several(
  count: number,
  make: (name: string, overrides?: MemberOverrides) => Member,
  prefix: string,
  overrides: MemberOverrides = {},
): Member[] {
  return Array.from({ length: count }, (_, index) => make(`${prefix}-${index + 1}`, overrides))
}

export function someSettings(overrides: Partial<PoolSettings>): PoolSettings {
  return { ...NO_SETTINGS, ...overrides }
}

/** A pool of the type its name says (else worker), with nothing recorded and nothing asked for. */
export function aPool(name: string, overrides: Partial<EffectivePool> = {}): EffectivePool {
  const type = name === 'control' || name === 'etcd' ? name : 'worker'
  return {
    name,
    type,
    select: { kind: type === 'control' ? 'controlPlaneRole' : 'rest' },
    settings: NO_SETTINGS,
    previous: NO_SETTINGS,
    asked: NO_SETTINGS,
    maxUnavailable: { count: 1 },
    ...overrides,
  }
}

/** Facts with one pool for each name that the members have, all of them wanting the offering `large`. */
export function someFacts(members: readonly Member[], overrides: Partial<RolloutFacts> = {}): RolloutFacts {
  const names = [...new Set(members.map((member) => member.pool))]
  return {
    pools: names.map((name) => {
      const type = members.find((member) => member.pool === name)?.type ?? 'worker'
      return aPool(name, { type, settings: LARGE })
    }),
    members,
    outsiders: [],
    skippedPools: {},
    startStopped: true,
    goLast: [],
    ...overrides,
  }
}

export const LARGE: PoolSettings = { offerings: ['large'], rootDiskGiB: null, affinityGroups: null }

export function aRecord(overrides: Partial<ClusterRecord> = {}): ClusterRecord {
  return { ...EMPTY_RECORD, ...overrides }
}

export function aGroup(name: string, explicitDedication = false): AffinityGroup {
  return { name, explicitDedication }
}

/** Marks of a rollout that is gone. */
export function someMarks(overrides: Partial<Marks>): Marks {
  return { ...NO_MARKS, ...overrides }
}

export function anAttempt(overrides: Partial<AttemptMark> = {}): AttemptMark {
  return {
    rollout: 'localhost:7233/default/cluster-rollout/prod/run-1',
    run: 'run-1',
    token: 'token-1',
    at: '2026-01-02T03:04:05Z',
    bootId: 'b1',
    uid: 'uid',
    added: { labels: {}, annotations: {} },
    ...overrides,
  }
}

export const ACTING: Marks['acting'] = {
  act: 'stop',
  at: '2026-01-02T03:05:00Z',
  rollout: 'localhost:7233/default/cluster-rollout/prod/run-1',
  token: 'token-1',
}

export const FAILURE: FailureMark = {
  step: 'verify',
  reason: 'not ready',
  machine: 'running, offering small',
  at: '2026-01-02T03:06:00Z',
  rollout: 'localhost:7233/default/cluster-rollout/prod/run-1',
}

export const QUARANTINE: QuarantineMark = {
  reason: 'its pods did not go',
  at: '2026-01-02T03:07:00Z',
  rollout: 'localhost:7233/default/cluster-rollout/prod/run-1',
}

/** The marks of a node that noderoll cordoned and has not acted on. */
export const CORDONED_BY_US: Marks = someMarks({ bootId: 'b1', attempt: anAttempt() })
/** The same, and its machine was acted on; and failed after that. */
export const ACTED = someMarks({ bootId: 'b1', attempt: anAttempt(), acting: ACTING })
export const FAILED = someMarks({ bootId: 'b1', attempt: anAttempt(), acting: ACTING, failure: FAILURE })
/** Somebody else had cordoned the node: no boot-id annotation (CKS-15). */
export const CORDONED_BY_OTHERS = someMarks({ attempt: anAttempt() })

/** A healthy, caught-up voter. */
export function aVoter(name: string, overrides: Partial<EtcdMember> = {}): EtcdMember {
  return {
    id: `etcd-${name}`,
    name,
    learner: false,
    health: 'healthy',
    caughtUp: true,
    behind: 0,
    leader: false,
    alarms: [],
    ...overrides,
  }
}

export function etcdOf(members: readonly (string | EtcdMember)[]): EtcdView {
  return {
    kind: 'members',
    members: members.map((member) => (typeof member === 'string' ? aVoter(member) : member)),
  }
}

/** What a batch does with this member, as `nextBatch` would name it. */
export function aBatchNode(member: Member, how: How = 'roll', overrides: Partial<BatchNode> = {}): BatchNode {
  const { machine, node, pool, type } = member
  return {
    node: node?.name ?? null,
    machineId: machine.id,
    machineName: machine.name,
    providerId: machine.providerId,
    pool,
    type,
    how,
    etcdMember: type !== 'worker',
    why: 'offering small → large',
    was: { offering: machine.offering, rootDiskGiB: machine.rootDiskGiB, affinityGroups: [] },
    wants: LARGE,
    ...overrides,
  }
}

export function aBatch(members: readonly Member[], how: How = 'roll', recovery = how !== 'roll'): Batch {
  const [first] = members
  if (first === undefined) throw new Error('a batch has at least one node')
  return {
    pool: first.pool,
    type: first.type,
    recovery,
    nodes: members.map((member) => aBatchNode(member, how)),
  }
}

/** A running pod of a ReplicaSet. */
export function aPod(overrides: Partial<PodRecord> = {}): PodRecord {
  return {
    namespace: 'shop',
    name: 'web-1',
    uid: 'pod-uid',
    nodeName: 'w-1',
    labels: {},
    phase: 'Running',
    ready: true,
    terminating: false,
    ageSeconds: 3_600,
    deletionAgeSeconds: null,
    overdueSeconds: null,
    finalizers: [],
    mirror: false,
    controller: { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web' },
    emptyDir: false,
    claims: [],
    priority: 0,
    priorityClass: null,
    ...overrides,
  }
}

export function namesOf(members: readonly Member[]): string[] {
  return members.map(nameOf)
}

/** The policy of a spec that says nothing about drains. */
export const DRAIN_POLICY: DrainPolicy = {
  timeoutSeconds: 900,
  gracePeriodSeconds: null,
  barePods: 'refuse',
  emptyDir: 'delete',
  parallelEvictions: 20,
  order: { by: 'criticalLast' },
  skip: [],
  waitCompleted: [],
  skipWaitForDeleteSeconds: null,
  unreachableWaitSeconds: 300,
  volumes: 'detach',
  loadBalancerSettleSeconds: 0,
  onBlocked: 'stop',
  quarantineLimit: 3,
  force: { drainOlderThanSeconds: 21_600, lastForcedOlderThanSeconds: 3_600, podOlderThanSeconds: 86_400 },
}
