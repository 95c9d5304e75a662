import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { parseAllDocuments } from 'yaml'
import type { NodeChange, NodeRecord } from '../../../src/core/model.js'
import type { KubernetesAccess } from '../../../src/core/spec.js'
import type { Cluster } from '../../../src/ports/cluster.js'
import { type PortErrorKind, portErrorKind } from '../../../src/ports/errors.js'
import { KubernetesApi } from '../../../src/providers/kubernetes/api.js'
import { kubernetesCluster } from '../../../src/providers/kubernetes/cluster.js'
import { kubernetesRecords } from '../../../src/providers/kubernetes/records.js'
import { cleanCluster } from '../../support/clean.js'
import type { ControlPlaneClient } from '../../support/control-plane.js'
import type { KubeApi, KubeObject } from '../../support/kube-api.js'
import { type RealControlPlane, realControlPlane } from '../../support/parts.js'
import { FaultProxy } from '../../support/proxy.js'
import { waitUntil } from '../../support/wait.js'

export const NODES = '/api/v1/nodes'
export const PODS = '/api/v1/namespaces/default/pods'
export const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets'
const NODE_LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'

const RBAC_FILE = new URL('../../../deploy/rbac.yaml', import.meta.url)
const RBAC_GROUP = 'rbac.authorization.k8s.io'
const PLURALS: Record<string, string> = {
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  Role: 'roles',
  RoleBinding: 'rolebindings',
}

/** What is in deploy/rbac.yaml. */
export async function rbacDocuments(): Promise<KubeObject[]> {
  return parseAllDocuments(await readFile(RBAC_FILE, 'utf8')).map((document) => document.toJS())
}

/**
 * Gives the user `noderoll` what deploy/rbac.yaml gives a worker, and nothing else. Its records are kept in
 * `recordsNamespace`.
 */
export async function grantNoderoll(
  controlPlane: ControlPlaneClient,
  recordsNamespace = 'kube-system',
): Promise<void> {
  for (const object of await rbacDocuments()) {
    if ('subjects' in object) object.subjects = [{ apiGroup: RBAC_GROUP, kind: 'User', name: 'noderoll' }]
    const { name } = object.metadata
    if (object.metadata.namespace === 'kube-system') object.metadata.namespace = recordsNamespace
    const { namespace } = object.metadata
    const inNamespace = namespace === undefined ? '' : `/namespaces/${namespace}`
    const plural = PLURALS[object.kind ?? '']
    const path = `/apis/${RBAC_GROUP}/v1${inNamespace}/${plural}/${name}?fieldManager=test&force=true`
    await controlPlane.api.ok('PATCH', path, object, { contentType: 'application/apply-patch+yaml' })
  }
  const noderoll = controlPlane.apiOf('noderoll')
  const isAllowed = async (path: string) => (await noderoll.call('GET', path)).status !== 403
  await waitUntil(
    async () =>
      (await isAllowed(NODES)) &&
      (await isAllowed(`/api/v1/namespaces/${recordsNamespace}/configmaps/noderoll`)),
    { for: 'the rules to be known' },
  )
  noderoll.close()
}

export interface AccessOptions {
  /** Asked first, in place of the API server itself. */
  proxy?: FaultProxy
  endpoints?: string[]
}

/** A real control plane, a proxy in front of it, and noderoll's own way to both, with the rights of deploy/rbac.yaml. */
export class Bed {
  readonly controlPlane: RealControlPlane
  readonly proxy: FaultProxy
  readonly folder: string
  readonly #opened: KubernetesApi[] = []

  private constructor(controlPlane: RealControlPlane, proxy: FaultProxy, folder: string) {
    this.controlPlane = controlPlane
    this.proxy = proxy
    this.folder = folder
  }

  static async start(): Promise<Bed> {
    const controlPlane = await realControlPlane()
    await grantNoderoll(controlPlane)
    const folder = await mkdtemp(join(tmpdir(), 'noderoll-bed-'))
    return new Bed(controlPlane, await FaultProxy.start(controlPlane.access), folder)
  }

  /** As the administrator, past the proxy. */
  get admin(): KubeApi {
    return this.controlPlane.api
  }

  /** With connections of its own. Through the proxy, unless told otherwise. */
  async open(options: AccessOptions = { proxy: this.proxy }) {
    const access = await this.access(options)
    const api = new KubernetesApi(access)
    this.#opened.push(api)
    return { api, access, cluster: kubernetesCluster(access, api), records: kubernetesRecords(access, api) }
  }

  async access({ proxy, endpoints = [] }: AccessOptions): Promise<KubernetesAccess> {
    const server = proxy?.url ?? this.controlPlane.url
    // Both, since the endpoints may be either.
    const ca = this.controlPlane.access.ca + this.proxy.ca + (proxy?.ca ?? '')
    const path = join(this.folder, `kubeconfig-${new URL(server).port}`)
    await writeFile(path, this.controlPlane.kubeconfig('noderoll', server, { ca }))
    return { kind: 'kubeconfig', path, context: null, endpoints, namespace: 'kube-system' }
  }

  async clean(): Promise<void> {
    await this.proxy.reset()
    await cleanCluster(this.controlPlane)
  }

  async stop(): Promise<void> {
    await Promise.all(this.#opened.map((api) => api.close()))
    await this.proxy.stop()
    this.controlPlane.close()
    await rm(this.folder, { recursive: true })
  }
}

export async function addNode(api: KubeApi, name: string, bootId = `boot-of-${name}`): Promise<KubeObject> {
  await sayAlive(api, name)
  await api.ok('POST', NODES, { metadata: { name, labels: { zone: 'a' } } })
  return await api.ok('PATCH', `${NODES}/${name}/status`, {
    status: { conditions: [{ type: 'Ready', status: 'True' }], nodeInfo: { bootID: bootId } },
  })
}

/**
 * The node lifecycle controller knows nodes by name: one made anew under its name within a second is the old one to it,
 * silent since then, and after 40 s it says of its pods that they are not ready.
 */
async function sayAlive(api: KubeApi, name: string): Promise<void> {
  const { status, text } = await api.call('POST', NODE_LEASES, {
    metadata: { name },
    spec: {
      holderIdentity: name,
      leaseDurationSeconds: 40,
      renewTime: new Date().toISOString().replace('Z', '000Z'),
    },
  })
  // 409: a node made again in the same test, whose Lease is seconds old.
  if (status !== 201 && status !== 409) throw new Error(`Lease of ${name}: ${status} ${text}`)
}

/** One on which the controllers have written what they write on a new one: nobody writes in between then. */
export async function addSettledNode(api: KubeApi, name: string): Promise<KubeObject> {
  await addNode(api, name)
  return await waitUntil(
    async () => {
      const node = await api.ok('GET', `${NODES}/${name}`)
      const isNoted = 'node.alpha.kubernetes.io/ttl' in (node.metadata.annotations ?? {})
      return isNoted && node.spec.taints === undefined && node
    },
    { for: `node ${name} to settle` },
  )
}

/** As a caller does it: read, write, and again when a controller was faster. */
export async function patchNow(cluster: Cluster, name: string, change: NodeChange): Promise<NodeRecord> {
  for (;;) {
    const node = await cluster.node(name, patient())
    try {
      return await cluster.patchNode(name, node?.resourceVersion ?? '', change, patient())
    } catch (error) {
      if (portErrorKind(error) !== 'conflict') throw error
    }
  }
}

export interface PodOptions {
  phase?: string
  ready?: boolean
  finalizers?: string[]
}

/** What the scheduler and a kubelet would do to a pod, without them. */
export async function addPod(
  api: KubeApi,
  name: string,
  nodeName: string,
  { phase = 'Running', ready = true, finalizers = [] }: PodOptions = {},
): Promise<KubeObject> {
  await api.ok('POST', PODS, {
    metadata: { name, labels: { app: name }, finalizers },
    spec: { nodeName, tolerations: [{ operator: 'Exists' }], containers: [{ name: 'c', image: 'i' }] },
  })
  return await api.ok('PATCH', `${PODS}/${name}/status`, {
    status: { phase, conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  })
}

/** Done when the disruption controller has counted every pod that is ready: it hears of pods and of budgets one by one. */
export async function addBudget(
  api: KubeApi,
  name: string,
  app: string,
  minAvailable: number,
): Promise<KubeObject> {
  await api.ok('POST', BUDGETS, {
    metadata: { name },
    spec: { minAvailable, selector: { matchLabels: { app } } },
  })
  return await waitUntil(
    async () => {
      const budget = await api.ok('GET', `${BUDGETS}/${name}`)
      const ready = (await api.list(`${PODS}?labelSelector=app%3D${app}`)).filter(isReadyPod)
      // A budget that nobody has changed since it was made is at its first generation.
      const isCounted = budget.status?.observedGeneration === 1
      return isCounted && budget.status?.currentHealthy === ready.length && budget
    },
    { for: `the count of budget ${name}` },
  )
}

function isReadyPod({ metadata, status }: KubeObject): boolean {
  const conditions: { type: string; status: string }[] = status?.conditions ?? []
  const isReady = conditions.some((condition) => condition.type === 'Ready' && condition.status === 'True')
  return isReady && metadata.deletionTimestamp === undefined
}

/** The signal of a caller who does not give up. */
export function patient(): AbortSignal {
  return new AbortController().signal
}

/** An error as the activities see it. */
export function portError(kind: PortErrorKind, message?: RegExp) {
  return expect.objectContaining({
    name: 'PortError',
    kind,
    ...(message && { message: expect.stringMatching(message) }),
  })
}
