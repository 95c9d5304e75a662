import { describe, expect, it } from 'vitest'
import type { PodRecord } from '../../../src/core/pods.js'
import { podRecord, readPod } from '../../../src/providers/kubernetes/pod-record.js'
import { type RealObject, realFiles, realObjects } from './real-objects.js'

const NOW = Date.parse('2022-01-27T14:45:00Z')

function record(item: unknown): PodRecord {
  return podRecord(readPod(item), NOW)
}

function count(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  return counts
}

interface Expected {
  phases: Record<string, number>
  /** Kind of the controller; `none` without one. */
  owners: Record<string, number>
  ready: number
  mirror?: number
  emptyDir?: number
  priority?: number
  terminating?: number
  unbound?: number
}

const TABLE: [file: string, expected: Expected][] = [
  [
    'aks-pods.json',
    {
      phases: { Running: 10 },
      owners: { DaemonSet: 6, ReplicaSet: 4 },
      ready: 10,
      emptyDir: 3,
      priority: 10,
    },
  ],
  [
    'k3s-1.31-pods.json',
    {
      phases: { Running: 5, Succeeded: 2 },
      owners: { ReplicaSet: 4, Job: 2, DaemonSet: 1 },
      ready: 5,
      emptyDir: 4,
      priority: 5,
    },
  ],
  [
    'k3s-2025-default-pods.json',
    { phases: { Running: 4, Pending: 2 }, owners: { ReplicaSet: 6 }, ready: 3, unbound: 2 },
  ],
  [
    'kubeadm-aws-1.8-pods.json',
    {
      phases: { Running: 18, Succeeded: 1, Failed: 1 },
      owners: { DaemonSet: 10, ReplicaSet: 3, none: 7 },
      ready: 18,
      mirror: 4,
      emptyDir: 6,
    },
  ],
  [
    'kubeadm-e2e-leftover-pods.json',
    {
      phases: { Succeeded: 5, Running: 7, Pending: 1, Failed: 1 },
      owners: { none: 9, ReplicaSet: 1, ReplicationController: 3, DaemonSet: 1 },
      ready: 7,
      emptyDir: 6,
      unbound: 1,
    },
  ],
  [
    'kubeadm-kind-pods.json',
    {
      phases: { Pending: 4, Running: 14, Succeeded: 1 },
      owners: { ReplicaSet: 4, Node: 4, DaemonSet: 9, none: 2 },
      ready: 14,
      mirror: 4,
      emptyDir: 5,
      priority: 11,
      terminating: 4,
      unbound: 2,
    },
  ],
  [
    'openshift-pods.json',
    {
      phases: { Running: 32, Failed: 2, Pending: 3 },
      owners: { ReplicaSet: 30, Job: 2, Node: 3, StatefulSet: 2 },
      ready: 32,
      mirror: 3,
      emptyDir: 6,
      priority: 32,
      unbound: 1,
    },
  ],
  [
    'troubled-pods.json',
    {
      phases: { CrashLoopBackOff: 2, Pending: 5, Failed: 1, Running: 1 },
      owners: { ReplicaSet: 5, DaemonSet: 1, Job: 1, none: 2 },
      ready: 2,
      emptyDir: 2,
      unbound: 2,
    },
  ],
]

describe('real pods', () => {
  it('are all in the table', () => {
    expect(realFiles('pod')).toEqual(TABLE.map(([file]) => file))
  })

  it.each(TABLE)('are read as they are: %s', (file, expected) => {
    const items = realObjects(file)
    const records = items.map(record)

    expect({
      phases: count(records.map(({ phase }) => phase)),
      owners: count(records.map(({ controller }) => controller?.kind ?? 'none')),
      ready: records.filter(({ ready }) => ready).length,
      mirror: records.filter(({ mirror }) => mirror).length,
      emptyDir: records.filter(({ emptyDir }) => emptyDir).length,
      priority: records.filter(({ priority, priorityClass }) => priority > 0 && priorityClass !== null)
        .length,
      terminating: records.filter(({ terminating }) => terminating).length,
      unbound: records.filter(({ nodeName }) => nodeName === null).length,
    }).toEqual({ mirror: 0, emptyDir: 0, priority: 0, terminating: 0, unbound: 0, ...expected })
    expect(records.map(identity)).toEqual(items.map(({ metadata }) => identity(metadata)))
  })

  it('that terminate: the age counts from the request, what is overdue from the end of the grace period', () => {
    const terminating = realObjects('kubeadm-kind-pods.json').filter(
      (item) => item.metadata.deletionTimestamp,
    )
    const ages = terminating.map(record).map(({ deletionAgeSeconds }) => deletionAgeSeconds)

    // Grace periods of 60 s and 30 s: their namespace was deleted at 14:44:23.
    expect(ages).toEqual([37, 36, 36, 36])
    expect(terminating.map(record).map(({ overdueSeconds }) => overdueSeconds)).toEqual([0, 6, 6, 6])
  })

  it('that a controller of its own kind owns: the reference has what a drain decides on', () => {
    const mirror = realObjects('openshift-pods.json')
      .map(record)
      .find((pod) => pod.mirror)

    expect(mirror?.controller).toMatchObject({ apiVersion: 'v1', kind: 'Node' })
  })
})

describe('a pod that lacks what it should have', () => {
  it('says so', () => {
    expect(record({ metadata: { name: 'bare' } })).toEqual({
      namespace: 'default',
      name: 'bare',
      uid: '',
      nodeName: null,
      labels: {},
      phase: 'Unknown',
      ready: false,
      terminating: false,
      ageSeconds: null,
      deletionAgeSeconds: null,
      overdueSeconds: null,
      finalizers: [],
      mirror: false,
      controller: null,
      emptyDir: false,
      claims: [],
      priority: 0,
      priorityClass: null,
    })
  })

  it('an owner that is no controller is none', () => {
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'parent' }]

    expect(record({ metadata: { name: 'child', ownerReferences } }).controller).toBeNull()
  })

  it('a deletion in the future, by a clock that is behind, is not older than now', () => {
    const deletionTimestamp = '2022-01-27T14:50:00Z'

    expect(record({ metadata: { name: 'n', deletionTimestamp } })).toMatchObject({
      terminating: true,
      deletionAgeSeconds: 0,
      overdueSeconds: 0,
    })
  })
})

function identity({ namespace, name, uid }: PodRecord | RealObject['metadata']) {
  return { namespace, name, uid }
}
