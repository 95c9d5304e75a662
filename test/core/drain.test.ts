import { describe, expect, it } from 'vitest'
import { daemonSetOf, podVerdict } from '../../src/core/drain/filters.js'
import type { DrainFacts } from '../../src/core/drain/verdict.js'
import { type PodRecord, podName } from '../../src/core/pods.js'
import type { DrainPolicy } from '../../src/core/spec.js'
import { aPod, DRAIN_POLICY } from '../support/builders.js'

const STRICT: DrainPolicy = { ...DRAIN_POLICY, emptyDir: 'refuse' }
const LENIENT: DrainPolicy = { ...STRICT, barePods: 'evict', emptyDir: 'delete' }
const DAEMON_SET = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'logs' }
const KEEP = { namespace: null, matchLabels: { keep: 'yes' }, matchExpressions: [] }
const FACTS: DrainFacts = { daemonSets: new Set(['shop/logs']), silentSeconds: 0 }

describe('what a drain does with a pod', () => {
  const finished = { phase: 'Succeeded' }
  const terminating = { terminating: true, deletionAgeSeconds: 130, overdueSeconds: 100 }
  const daemon = { controller: DAEMON_SET }
  const orphan = { controller: { ...DAEMON_SET, name: 'deleted' } }
  const bare = { controller: null }

  it.each<[string, Partial<PodRecord>, DrainPolicy, string]>([
    ['CKS-16 a pod with a controller goes', {}, STRICT, 'evict: has a controller'],
    [
      'CKS-16 a pod that has no legal phase goes',
      { phase: 'CrashLoopBackOff' },
      STRICT,
      'evict: has a controller',
    ],
    [
      'CKS-16 a pod that is not ready goes',
      { ready: false, phase: 'Pending' },
      STRICT,
      'evict: has a controller',
    ],
    ['CKS-16 a static pod stays', { mirror: true, ...bare }, STRICT, 'skip: static pod of the node'],
    [
      'CKS-16 a static pod that terminates is not waited for: the kubelet makes its mirror again',
      { mirror: true, ...terminating },
      STRICT,
      'skip: static pod of the node',
    ],
    ['CKS-16 a pod of a DaemonSet stays', daemon, STRICT, 'skip: of DaemonSet shop/logs'],
    [
      'CKS-16 the same with an emptyDir stays',
      { ...daemon, emptyDir: true },
      STRICT,
      'skip: of DaemonSet shop/logs',
    ],
    ['CKS-16 a finished pod of a DaemonSet goes', { ...daemon, ...finished }, STRICT, 'evict: is Succeeded'],
    [
      'CKS-16 a DaemonSet of the same name in another namespace is another one',
      { ...daemon, namespace: 'other' },
      STRICT,
      'refuse: its DaemonSet other/logs does not exist',
    ],
    [
      'CKS-16 a pod whose DaemonSet is gone is refused: nothing would bring it back',
      orphan,
      STRICT,
      'refuse: its DaemonSet shop/deleted does not exist',
    ],
    ['B02 a terminating pod is waited for', terminating, STRICT, 'wait: is terminating'],
    [
      'B02 a terminating pod names the finalizers that hold it',
      { ...terminating, finalizers: ['a/b', 'c/d'] },
      STRICT,
      'wait: is terminating, held by finalizer a/b, c/d',
    ],
    [
      'B02 a terminating pod without a controller is waited for, not refused',
      { ...terminating, ...bare },
      STRICT,
      'wait: is terminating',
    ],
    [
      'B02 a terminating pod with an emptyDir is waited for, not refused',
      { ...terminating, emptyDir: true },
      STRICT,
      'wait: is terminating',
    ],
    [
      'B02 a finished pod that terminates is waited for, not evicted again',
      { ...terminating, ...finished },
      STRICT,
      'wait: is terminating',
    ],
    [
      'B02 a terminating pod of a DaemonSet delays nothing',
      { ...terminating, ...daemon },
      STRICT,
      'skip: of DaemonSet shop/logs',
    ],
    [
      'B02 a terminating pod whose DaemonSet is gone is waited for, not refused',
      { ...terminating, ...orphan },
      STRICT,
      'wait: is terminating',
    ],
    [
      'CKS-16 a finished pod goes, whatever it had',
      { ...finished, ...bare, emptyDir: true },
      STRICT,
      'evict: is Succeeded',
    ],
    ['CKS-16 a failed pod goes', { phase: 'Failed', ...bare }, STRICT, 'evict: is Failed'],
    [
      'CKS-16 a pod without a controller is refused',
      bare,
      STRICT,
      'refuse: has no controller: nothing would bring it back',
    ],
    [
      'CKS-16 a pod without a controller goes if the spec says so',
      bare,
      LENIENT,
      'evict: has no controller, and drain.barePods is evict',
    ],
    [
      'CKS-16 data in an emptyDir is refused',
      { emptyDir: true },
      STRICT,
      'refuse: keeps data in an emptyDir, and drain.emptyDir is refuse',
    ],
    [
      'CKS-16 data in an emptyDir goes if the spec says so',
      { emptyDir: true },
      LENIENT,
      'evict: has a controller',
    ],
    [
      'CKS-16 emptyDir allowed does not allow bare pods',
      { ...bare, emptyDir: true },
      { ...STRICT, emptyDir: 'delete' },
      'refuse: has no controller: nothing would bring it back',
    ],
    [
      'CKS-16 a pod that drain.skip selects stays, also while it terminates',
      { ...terminating, labels: { keep: 'yes' } },
      { ...STRICT, skip: [KEEP] },
      'skip: selected by drain.skip',
    ],
    [
      'CKS-16 a selector with a namespace selects in no other one',
      { labels: { keep: 'yes' } },
      { ...STRICT, skip: [{ ...KEEP, namespace: 'other' }] },
      'evict: has a controller',
    ],
    [
      'CKS-16 a pod to complete is left to its end, whatever it has',
      { ...bare, labels: { keep: 'yes' }, emptyDir: true },
      { ...STRICT, waitCompleted: [KEEP] },
      'wait: is left to run to its end (drain.waitCompleted)',
    ],
    [
      'CKS-16 a pod to complete that has ended goes as a finished one',
      { ...bare, ...finished, labels: { keep: 'yes' } },
      { ...STRICT, waitCompleted: [KEEP] },
      'evict: is Succeeded',
    ],
    [
      'B02 a pod that terminates for longer than drain.skipWaitForDelete is no longer waited for',
      terminating,
      { ...STRICT, skipWaitForDeleteSeconds: 99 },
      'skip: terminating for longer than drain.skipWaitForDelete',
    ],
    [
      'B02 for just as long, it is',
      terminating,
      { ...STRICT, skipWaitForDeleteSeconds: 100 },
      'wait: is terminating',
    ],
    [
      'B02 a pod within its own grace is waited for, however long that is',
      { terminating: true, deletionAgeSeconds: 3_000, overdueSeconds: 0 },
      { ...STRICT, skipWaitForDeleteSeconds: 99 },
      'wait: is terminating',
    ],
    [
      'B02 a long termination on a node that is ready is waited for',
      { ...terminating, deletionAgeSeconds: 301 },
      STRICT,
      'wait: is terminating',
    ],
  ])('%s', (_, pod, policy, expected) => {
    const verdict = podVerdict(aPod(pod), policy, FACTS)

    expect(`${verdict.kind}: ${verdict.why}`).toBe(expected)
  })

  it.each<[number, number, string]>([
    [300, 3_000, 'wait: is terminating'],
    [3_000, 300, 'wait: is terminating'],
    [301, 301, 'skip: terminating for longer than drain.unreachableWait on a node that is silent as long'],
  ])(
    'B02 a pod that terminates for %i s on a node whose kubelet is silent for %i s: %s',
    (deletionAgeSeconds, silentSeconds, expected) => {
      const pod = aPod({ terminating: true, deletionAgeSeconds })

      const { kind, why } = podVerdict(pod, STRICT, { ...FACTS, silentSeconds })

      expect(`${kind}: ${why}`).toBe(expected)
    },
  )

  it.each<[string, PodRecord['controller'], string | null]>([
    ['of apps/v1', DAEMON_SET, 'shop/logs'],
    ['of an API that no longer exists', { ...DAEMON_SET, apiVersion: 'extensions/v1beta1' }, null],
    ['another kind', { ...DAEMON_SET, kind: 'ReplicaSet' }, null],
    ['nobody', null, null],
  ])('CKS-16 the DaemonSet of a pod is its owner: %s', (_, controller, expected) => {
    expect(daemonSetOf(aPod({ controller }))).toBe(expected)
  })

  it('CKS-16 a pod is named with its namespace', () => {
    expect(podName(aPod())).toBe('shop/web-1')
  })
})
