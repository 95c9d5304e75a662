import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { daemonSetOf, podVerdict } from '../../src/core/drain/filters.js'
import type { DrainFacts } from '../../src/core/drain/verdict.js'
import { type PodRecord, podName } from '../../src/core/pods.js'
import type { DrainPolicy } from '../../src/core/spec.js'
import { podRecord, readPod } from '../../src/providers/kubernetes/pod-record.js'
import { realObjects } from '../providers/kubernetes/real-objects.js'
import { aPod, DRAIN_POLICY } from '../support/builders.js'

const STRICT: DrainPolicy = { ...DRAIN_POLICY, emptyDir: 'refuse' }
const LENIENT: DrainPolicy = { ...STRICT, barePods: 'evict', emptyDir: 'delete' }
const DAEMON_SET = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'logs' }
const KEEP = { namespace: null, matchLabels: { keep: 'yes' }, matchExpressions: [] }
const FACTS: DrainFacts = { daemonSets: new Set(['shop/logs']), silentSeconds: 0 }

function fixture<T>(path: string): T {
  return JSON.parse(readFileSync(new URL(`../fixtures/${path}`, import.meta.url), 'utf8'))
}

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

interface Row {
  readonly id: string
  readonly kind: string
  readonly dialect?: string
  readonly what: string
  readonly pod: {
    readonly controller?: {
      apiVersion: string
      kind: string
      name: string
      controller: boolean
      exists: boolean
    } | null
    readonly phase?: string
    readonly volumes?: readonly string[]
    readonly annotations?: Readonly<Record<string, string>>
    readonly labels?: Readonly<Record<string, string>>
    readonly deletionAgeSeconds?: number
  }
  readonly options?: KubectlOptions
  readonly rules?: readonly { readonly match: Readonly<Record<string, string>>; readonly behavior: string }[]
  /** Draino's filters are asked one by one. */
  readonly filter?: string
  readonly expect: { readonly verdict: string }
}

interface KubectlOptions {
  readonly force?: boolean
  readonly deleteEmptyDirData?: boolean
  readonly skipWaitForDeleteTimeoutSeconds?: number
}

const FILTER_ROWS = fixture<{ rows: Row[] }>('drain-verdicts.json').rows.filter(
  ({ kind }) => kind === 'filter',
)

/** Rows on which noderoll differs on purpose; docs/drain.md says so, too. */
const WE_DIFFER: Record<string, { verdict: string; because: string }> = {
  'KUBECTL-45': {
    verdict: 'wait',
    because: 'a pod that terminates is lost already: there is nothing left to protect by a refusal',
  },
  'KUBECTL-46': {
    verdict: 'wait',
    because: 'a pod that terminates was asked to go: a second eviction changes nothing',
  },
  'CAPI-18': {
    verdict: 'evict',
    because: 'no policy here asks for anything of a namespace but its name, which the pod itself says',
  },
  'CAPI-19': {
    verdict: 'evict',
    because: 'a word in the spec that nobody knows is refused before the rollout begins',
  },
  'KARPENTER-01': {
    verdict: 'evict',
    because: 'a toleration of another tool’s taint is no reason to be cut off by the stop of the machine',
  },
  'KARPENTER-06': {
    verdict: 'evict',
    because: 'pods of DaemonSets stay, so there are two groups and not four (drain-order.test.ts)',
  },
}

/** Our word for what others call `error`. */
function ours(verdict: string): string {
  return verdict === 'error' ? 'refuse' : verdict
}

/** What the options of kubectl drain are in a spec; always with --ignore-daemonsets. */
function policyOf({
  force,
  deleteEmptyDirData,
  skipWaitForDeleteTimeoutSeconds,
}: KubectlOptions): DrainPolicy {
  return {
    ...STRICT,
    skipWaitForDeleteSeconds: skipWaitForDeleteTimeoutSeconds || null,
    barePods: force ? 'evict' : 'refuse',
    emptyDir: deleteEmptyDirData ? 'delete' : 'refuse',
  }
}

/** The spec that comes closest to how a tool drains. */
function policyFor({ dialect, options = {}, rules = [], filter }: Row): DrainPolicy {
  const skip = rules
    .filter(({ behavior }) => behavior === 'Skip')
    .map(({ match }) => ({ namespace: null, matchLabels: match, matchExpressions: [] }))
  const label = { key: 'cluster.x-k8s.io/drain', operator: 'In', values: ['skip', 'Skip'] }
  switch (dialect) {
    case 'kubectl':
      return policyOf(options)
    case 'cluster-api':
      return {
        ...policyOf({ ...options, force: true, deleteEmptyDirData: true }),
        skip: [...skip, { namespace: null, matchLabels: {}, matchExpressions: [label] }],
      }
    case 'draino':
      return policyOf({
        force: filter !== 'unreplicated',
        deleteEmptyDirData: filter !== 'localStorage',
      })
    default:
      return policyOf({ force: true, deleteEmptyDirData: true })
  }
}

function verdictOf(row: Row): string {
  const { pod } = row
  const controller = pod.controller ?? null
  const record = aPod({
    // Upstream leaves it out; a server would not.
    controller: controller?.controller
      ? { ...controller, apiVersion: controller.apiVersion || 'apps/v1' }
      : null,
    phase: pod.phase ?? 'Running',
    labels: pod.labels ?? {},
    mirror: pod.annotations?.['kubernetes.io/config.mirror'] !== undefined,
    emptyDir: pod.volumes?.some((volume) => volume.startsWith('emptyDir')) ?? false,
    terminating: pod.deletionAgeSeconds !== undefined,
    deletionAgeSeconds: pod.deletionAgeSeconds ?? null,
    overdueSeconds: pod.deletionAgeSeconds ?? null,
  })
  const daemonSets = new Set(controller?.exists ? [`shop/${controller.name}`] : [])
  return podVerdict(record, policyFor(row), { daemonSets, silentSeconds: 0 }).kind
}

describe('the verdicts of other drains', () => {
  const same = FILTER_ROWS.filter((row) => !(row.id in WE_DIFFER))

  it.each(same.map((row): [string, Row] => [`${row.id} (${row.dialect}) ${row.what}`, row]))(
    'CKS-16 %s',
    (_, row) => {
      expect(verdictOf(row)).toBe(ours(row.expect.verdict))
    },
  )

  const others = Object.entries(WE_DIFFER).map(
    ([id, { verdict, because }]) => [id, verdict, because] as const,
  )

  it.each(others)('CKS-16 but not %s: %s, since %s', (id, verdict) => {
    const row = FILTER_ROWS.find((one) => one.id === id)

    expect(row && verdictOf(row)).toBe(verdict)
    expect(row && ours(row.expect.verdict)).not.toBe(verdict)
  })

  it('CKS-16 no row is left out', () => {
    expect([FILTER_ROWS.length, same.length]).toEqual([55, 49])
  })
})

describe('the verdicts of kubectl drain on pods of real clusters', () => {
  interface RealRow {
    readonly file: string
    readonly index: number
    readonly name: string
    readonly verdict: Readonly<Record<string, string>>
  }
  const oracle = fixture<{
    options: Record<string, { force?: boolean; ignoreDaemonSets?: boolean; deleteEmptyDirData?: boolean }>
    rows: RealRow[]
  }>('real-objects/verdicts-kubectl.json')

  const files = [...new Set(oracle.rows.map(({ file }) => file))]
  const objects = new Map(files.map((file) => [file, realObjects(file)]))

  function differing(option: string): string[] {
    return oracle.rows.flatMap((row) => {
      const item = objects.get(row.file)?.[row.index]
      const pod = podRecord(readPod(item), Date.parse('2022-01-27T14:45:00Z'))
      const daemonSet = daemonSetOf(pod)
      const facts = { daemonSets: new Set(daemonSet === null ? [] : [daemonSet]), silentSeconds: 0 }
      const said = podVerdict(pod, policyOf(oracle.options[option] ?? {}), facts).kind
      const theirs = ours((row.verdict[option] ?? '').replace('+warning', ''))
      return said === theirs ? [] : [`${row.name}: ${theirs}, we ${said}`]
    })
  }

  it.each(['usual', 'force'])(
    'CKS-16 are ours, with the options %s, but for one that terminates (B02)',
    (option) => {
      expect(differing(option)).toEqual(['sonobuoy-e2e-job-1d0e9c62fc114e08: evict, we wait'])
    },
  )
})
