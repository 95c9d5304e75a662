import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { daemonSetOf, podVerdict } from '../../src/core/drain/filters.js'
import type { DrainPolicy } from '../../src/core/spec.js'
import { podRecord, readPod } from '../../src/providers/kubernetes/pod-record.js'
import { realObjects } from '../providers/kubernetes/real-objects.js'
import { aPod, DRAIN_POLICY } from '../support/builders.js'

const STRICT: DrainPolicy = { ...DRAIN_POLICY, emptyDir: 'refuse' }

function fixture<T>(path: string): T {
  return JSON.parse(readFileSync(new URL(`../fixtures/${path}`, import.meta.url), 'utf8'))
}

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
