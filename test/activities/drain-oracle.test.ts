import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { toBeGone } from '../../src/activities/drain/pods-left.js'
import { podName } from '../../src/core/pods.js'
import type { DrainPolicy } from '../../src/core/spec.js'
import { addNode, Bed, patient } from '../providers/kubernetes/bed.js'
import { DRAIN_POLICY } from '../support/builders.js'
import type { KubeObject } from '../support/kube-api.js'
import { waitUntil } from '../support/wait.js'
import { type DrainFlags, KubectlDrain, type OraclePod, type Said } from './kubectl-drain.js'
import {
  addCase,
  addDaemonSet,
  addNamespace,
  DAEMON_SET,
  loadRealObjects,
  NAMESPACES,
  podCases,
} from './oracle-pods.js'

const SEED = 20_261_130
const NODES = ['w-1', 'w-2', 'w-3', 'w-4', 'w-5', 'w-6', 'w-7', 'w-8']
const PODS_PER_NODE = 25
const SKIP_WAIT_SECONDS = 1

const FLAGS: readonly DrainFlags[] = [
  { ignoreDaemonSets: true },
  { ignoreDaemonSets: true, force: true },
  { ignoreDaemonSets: true, deleteEmptyDir: true },
  { ignoreDaemonSets: true, deleteEmptyDir: true, force: true },
]
const STRICTER: readonly DrainFlags[] = [{ deleteEmptyDir: true, force: true }]
const SKIP_WAIT: readonly DrainFlags[] = [
  { ignoreDaemonSets: true, skipWaitSeconds: SKIP_WAIT_SECONDS },
  { ignoreDaemonSets: true, deleteEmptyDir: true, force: true, skipWaitSeconds: SKIP_WAIT_SECONDS },
]

function policyOf({ force, deleteEmptyDir, skipWaitSeconds }: DrainFlags): DrainPolicy {
  return {
    ...DRAIN_POLICY,
    barePods: force ? 'evict' : 'refuse',
    emptyDir: deleteEmptyDir ? 'delete' : 'refuse',
    skipWaitForDeleteSeconds: skipWaitSeconds ?? null,
  }
}

type Ours = Said | 'wait'

/** A pod as the API server has it, and whether its DaemonSet exists. */
interface Judged {
  readonly pod: KubeObject
  readonly daemonSetExists: boolean
}

interface Difference {
  readonly because: string
  readonly where: (judged: Judged, flags: DrainFlags) => boolean
  readonly theirs: readonly Said[]
  readonly ours: Ours
}

/** The first whose `where` and `theirs` fit counts, and is then what has to be. docs/drain.md says the same. */
const ON_PURPOSE: readonly Difference[] = [
  {
    because: 'a static pod is the kubelet’s, whatever owner it names: kubectl looks at that first',
    where: ({ pod }) => pod.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined,
    theirs: ['refuse'],
    ours: 'skip',
  },
  {
    because: '--ignore-daemonsets is always on: a machine is stopped in any case',
    where: ({ daemonSetExists }, { ignoreDaemonSets }) => daemonSetExists && !ignoreDaemonSets,
    theirs: ['refuse'],
    ours: 'skip',
  },
  {
    because: 'a pod that terminates was asked to go, and is lost already: no second eviction, no refusal',
    where: ({ pod }) => pod.metadata.deletionTimestamp !== undefined,
    theirs: ['evict', 'refuse'],
    ours: 'wait',
  },
]

let bed: Bed

beforeAll(async () => {
  bed = await Bed.start()
})
beforeEach(async () => {
  await bed.clean()
  // Nobody collects the pods whose owners do not exist, or makes those that a DaemonSet lacks.
  bed.controlPlane.controllerManager.pause()
})
afterEach(() => bed.controlPlane.controllerManager.resume())
afterAll(() => bed?.stop())

interface Compared {
  /** What differs and should not, or is the same and should not be. */
  readonly wrong: readonly string[]
  readonly said: ReadonlySet<Said>
  readonly differences: ReadonlySet<Difference>
}

async function compare(
  nodes: readonly string[],
  pods: readonly OraclePod[],
  every: readonly DrainFlags[],
): Promise<Compared> {
  const kubectl = await KubectlDrain.of(bed.controlPlane)
  const judged = await judgedPods()
  const wrong: string[] = []
  const said = new Set<Said>()
  const differences = new Set<Difference>()
  for (const flags of every) {
    const theirs = await kubectl.verdicts(nodes, pods, flags)
    const ours = await ourVerdicts(nodes, policyOf(flags))
    for (const { full } of pods) {
      const one = judged.get(full)
      const they = theirs.get(full)
      if (one === undefined || they === undefined) throw new Error(`nobody knows pod ${full}`)
      const difference = ON_PURPOSE.find((some) => some.where(one, flags) && some.theirs.includes(they))
      said.add(they)
      if (difference !== undefined) differences.add(difference)
      const expected = difference?.ours ?? they
      if (ours.get(full) !== expected) {
        wrong.push(
          `${JSON.stringify(flags)} ${full}: kubectl ${they}, expected ${expected}, ${ours.get(full)}`,
        )
      }
    }
  }
  return { wrong, said, differences }
}

/** The verdicts of noderoll on what the API server has, read as right before a machine is stopped. */
async function ourVerdicts(nodes: readonly string[], policy: DrainPolicy): Promise<Map<string, Ours>> {
  const { cluster } = await bed.open({})
  const verdicts = new Map<string, Ours>()
  for (const name of nodes) {
    const left = await toBeGone(cluster, { name, ready: 'ready' }, policy, { signal: patient() })
    for (const { pod } of left.evict) verdicts.set(podName(pod), 'evict')
    for (const { pod } of left.wait) verdicts.set(podName(pod), 'wait')
    for (const { pod } of left.stay) verdicts.set(podName(pod), 'skip')
    for (const sentence of left.refused) verdicts.set(sentence.split(' ')[1] ?? sentence, 'refuse')
  }
  return verdicts
}

async function judgedPods(): Promise<Map<string, Judged>> {
  const daemonSets = await bed.admin.list('/apis/apps/v1/daemonsets')
  const names = new Set(daemonSets.map(fullName))
  const pods = await bed.admin.list('/api/v1/pods')
  return new Map(
    pods.map((pod) => {
      const owners: Owner[] = (pod.metadata as { ownerReferences?: Owner[] }).ownerReferences ?? []
      const owner = owners.find(({ controller }) => controller)
      const daemonSetExists =
        owner?.kind === 'DaemonSet' && names.has(`${pod.metadata.namespace}/${owner.name}`)
      return [fullName(pod), { pod, daemonSetExists }]
    }),
  )
}

interface Owner {
  readonly kind: string
  readonly name: string
  readonly controller?: boolean
}

function fullName({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`
}

describe('kubectl drain and noderoll on the same pods', () => {
  it(`CKS-16 decide the same about generated pods, but for what differs on purpose (seed ${SEED})`, async () => {
    const { admin } = bed
    for (const name of NODES) await addNode(admin, name)
    for (const namespace of NAMESPACES) await addNamespace(admin, namespace)
    await addDaemonSet(admin, DAEMON_SET.namespace, DAEMON_SET.name)
    const cases = podCases(SEED, NODES.length * PODS_PER_NODE)
    const pods = await Promise.all(
      cases.map((one, index) => addCase(admin, NODES[index % NODES.length] ?? '', one, `${index}`)),
    )
    const addedAt = Date.now()

    const first = await compare(NODES, pods, [...FLAGS, ...STRICTER])
    await waitUntil(() => Date.now() - addedAt > (SKIP_WAIT_SECONDS + 2) * 1000, { for: 'overdue pods' })
    const second = await compare(NODES, pods, SKIP_WAIT)

    expect([...first.wrong, ...second.wrong]).toEqual([])
    expect(first.said).toEqual(new Set(['evict', 'skip', 'refuse']))
    expect(first.differences).toEqual(new Set(ON_PURPOSE))
  })

  it('CKS-16 decide the same about real pods on their 31 nodes, first without their DaemonSets: all 122 but the 8 that were on no node', async () => {
    const real = await loadRealObjects(bed.admin)
    expect(real.refused).toEqual([])
    expect([real.nodes.length, real.pods.length, real.unscheduled]).toEqual([31, 114, 8])

    const without = await compare(real.nodes, real.pods, FLAGS.slice(-2))
    for (const full of real.daemonSets) {
      const [namespace = '', name = ''] = full.split('/')
      await addDaemonSet(bed.admin, namespace, name)
    }
    const complete = await compare(real.nodes, real.pods, [...FLAGS, ...STRICTER])

    expect([...without.wrong, ...complete.wrong]).toEqual([])
    expect(complete.said).toEqual(new Set(['evict', 'skip', 'refuse']))
  })
})
