import fc from 'fast-check'
import { addNode, NODES } from '../providers/kubernetes/bed.js'
import { type RealObject, realFiles, realObjects } from '../providers/kubernetes/real-objects.js'
import type { KubeApi } from '../support/kube-api.js'
import { CASE_LABEL, type OraclePod } from './kubectl-drain.js'

const DAEMON_SETS = (namespace: string) => `/apis/apps/v1/namespaces/${namespace}/daemonsets`
const HOLD = 'noderoll.test/hold'

/** Everything that a drain's verdict may hang on. */
export interface PodCase {
  readonly namespace: string
  readonly owners: readonly object[]
  readonly phase: string
  readonly mirror: boolean
  readonly emptyDir: boolean
  readonly finalizer: boolean
  /** Deleted, and still there: with the end of its grace an hour away, or behind it. */
  readonly deleted: 'no' | 'grace' | 'overdue'
}

export const NAMESPACES = ['oracle-a', 'oracle-b'] as const
/** The DaemonSet `logs` exists in the first namespace only. */
export const DAEMON_SET = { namespace: NAMESPACES[0], name: 'logs' }

const owner = (apiVersion: string, kind: string, name = 'web') => ({
  ...{ apiVersion, kind, name },
  uid: '11111111-1111-4111-8111-111111111111',
})
const controlling = (apiVersion: string, kind: string, name?: string) => ({
  ...owner(apiVersion, kind, name),
  controller: true,
})

const OWNERS: readonly (readonly object[])[] = [
  [],
  [controlling('apps/v1', 'ReplicaSet')],
  [controlling('apps/v1', 'StatefulSet')],
  [controlling('batch/v1', 'Job')],
  [controlling('v1', 'ReplicationController')],
  [controlling('v1', 'Node')],
  [controlling('example.com/v1', 'Whatever')],
  [controlling('apps/v1', 'DaemonSet', 'logs')],
  [controlling('apps/v1', 'DaemonSet', 'gone')],
  [controlling('extensions/v1beta1', 'DaemonSet', 'logs')],
  [controlling('extensions/v1beta1', 'DaemonSet', 'gone')],
  [owner('apps/v1', 'ReplicaSet')],
  [owner('apps/v1', 'DaemonSet', 'logs')],
  [owner('v1', 'Pod'), controlling('apps/v1', 'DaemonSet', 'logs')],
]

const often = <T>(usual: T, ...others: T[]) =>
  fc.oneof({ weight: 2, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) })

const POD_CASE: fc.Arbitrary<PodCase> = fc.record({
  namespace: fc.constantFrom(...NAMESPACES),
  owners: fc.constantFrom(...OWNERS),
  phase: often('Running', 'Pending', 'Succeeded', 'Failed', 'Unknown'),
  mirror: fc.oneof({ weight: 8, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  emptyDir: fc.boolean(),
  finalizer: often(false, true),
  deleted: often<PodCase['deleted']>('no', 'grace', 'overdue'),
})

export function podCases(seed: number, count: number): PodCase[] {
  return fc.sample(POD_CASE, { seed, numRuns: count })
}

export async function addNamespace(api: KubeApi, name: string): Promise<void> {
  await api.ok('POST', '/api/v1/namespaces', { metadata: { name, labels: { 'noderoll.test': '1' } } })
}

export async function addDaemonSet(api: KubeApi, namespace: string, name: string): Promise<void> {
  const labels = { app: name }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  await api.ok('POST', DAEMON_SETS(namespace), {
    metadata: { name },
    spec: { selector: { matchLabels: labels }, template },
  })
}

export async function addCase(api: KubeApi, node: string, one: PodCase, id: string): Promise<OraclePod> {
  const isFinished = one.phase === 'Succeeded' || one.phase === 'Failed'
  // The server ends the grace of a finished pod at once.
  const held = one.finalizer || one.deleted === 'overdue' || (one.deleted === 'grace' && isFinished)
  const pod = {
    metadata: {
      name: `pod-${id}`,
      annotations: one.mirror ? { 'kubernetes.io/config.mirror': 'hash' } : {},
      ownerReferences: one.owners,
      finalizers: held ? [HOLD] : [],
    },
    spec: {
      containers: [{ name: 'c', image: 'i' }],
      volumes: one.emptyDir ? [{ name: 'data', emptyDir: {} }] : [],
    },
    status: { phase: one.phase },
  }
  return await addPod(api, one.namespace, node, pod, id, graceOf(one.deleted))
}

function graceOf(deleted: PodCase['deleted']): number | null {
  if (deleted === 'no') return null
  return deleted === 'grace' ? 3600 : 0
}

/** `graceSeconds` null: nobody deletes it. */
async function addPod(
  api: KubeApi,
  namespace: string,
  node: string,
  { metadata, spec, status }: Pick<RealObject, 'metadata' | 'spec' | 'status'>,
  id: string,
  graceSeconds: number | null,
): Promise<OraclePod> {
  const pods = `/api/v1/namespaces/${namespace}/pods`
  const labels = { ...(metadata.labels as object), [CASE_LABEL]: id }
  await api.ok('POST', pods, {
    metadata: { ...metadata, labels },
    spec: { ...spec, nodeName: node },
  })
  await api.ok('PATCH', `${pods}/${metadata.name}/status`, { status })
  if (graceSeconds !== null) {
    const options = { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: graceSeconds }
    await api.ok('DELETE', `${pods}/${metadata.name}`, options)
    const { metadata: now } = await api.ok('GET', `${pods}/${metadata.name}`)
    if (now.deletionTimestamp === undefined) throw new Error(`${metadata.name} does not terminate`)
  }
  return { full: `${namespace}/${metadata.name}`, node, id }
}

export interface RealCluster {
  readonly nodes: readonly string[]
  readonly pods: readonly OraclePod[]
  /** `namespace/name` of the DaemonSets that pods name as owner. */
  readonly daemonSets: readonly string[]
  /** Pods that were on no node. */
  readonly unscheduled: number
  /** What the server would not take, with its answer. */
  readonly refused: readonly string[]
}

/**
 * The real nodes, and the real pods on their nodes; each file in namespaces of its own. Left out of them: what this server
 * would have to know (classes of priority and runtime), and what a server sets itself.
 */
export async function loadRealObjects(api: KubeApi): Promise<RealCluster> {
  const nodes = new Set<string>()
  const refused: string[] = []
  for (const file of realFiles('node')) {
    for (const node of realObjects(file)) {
      const { name } = node.metadata
      if (nodes.has(name)) continue
      nodes.add(name)
      await addRealNode(api, node).catch((error) => refused.push(String(error)))
    }
  }
  const pods: OraclePod[] = []
  const daemonSets = new Set<string>()
  const namespaces = new Set<string>()
  let unscheduled = 0
  for (const [index, file] of realFiles('pod').entries()) {
    for (const [place, pod] of realObjects(file).entries()) {
      const node: string | undefined = pod.spec?.nodeName
      if (node === undefined) {
        unscheduled++
        continue
      }
      const namespace = `real-${index}-${pod.metadata.namespace}`
      if (!namespaces.has(namespace)) await addNamespace(api, namespace)
      namespaces.add(namespace)
      if (!nodes.has(node)) await addNode(api, node)
      nodes.add(node)
      for (const { kind, name } of ownersOf(pod))
        if (kind === 'DaemonSet') daemonSets.add(`${namespace}/${name}`)
      const grace = pod.metadata.deletionTimestamp === undefined ? null : 30
      const added = addPod(api, namespace, node, portable(pod, grace !== null), `${index}-${place}`, grace)
      await added.then(
        (one) => pods.push(one),
        (error) => refused.push(String(error)),
      )
    }
  }
  return { nodes: [...nodes], pods, daemonSets: [...daemonSets], unscheduled, refused }
}

async function addRealNode(api: KubeApi, { metadata, spec, status }: RealObject): Promise<void> {
  const { name, labels, annotations } = metadata
  await api.ok('POST', NODES, { metadata: { name, labels, annotations }, spec })
  await api.ok('PATCH', `${NODES}/${name}/status`, { status })
}

function ownersOf({ metadata }: RealObject): { kind: string; name: string }[] {
  return (metadata.ownerReferences ?? []) as { kind: string; name: string }[]
}

function portable({ metadata, spec, status }: RealObject, held: boolean) {
  const { name, labels, annotations, ownerReferences } = metadata
  const { priority, preemptionPolicy, runtimeClassName, ...rest } = spec
  const isSystem = String(rest.priorityClassName).startsWith('system-')
  if (!isSystem) delete rest.priorityClassName
  return {
    metadata: { name, labels, annotations, ownerReferences, finalizers: held ? [HOLD] : [] },
    spec: rest,
    status,
  }
}
