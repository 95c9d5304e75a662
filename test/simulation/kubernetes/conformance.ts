import { randomUUID } from 'node:crypto'
import { Agent, type Dispatcher, request } from 'undici'
import { afterAll, beforeAll, describe } from 'vitest'
import { cleanCluster } from '../../support/clean.js'
import type { ControlPlaneClient } from '../../support/control-plane.js'
import { type ControlPlanePart, embeddedControlPlane } from '../../support/embedded-control-plane.js'
import type { KubeAnswer, KubeObject } from '../../support/kube-api.js'
import { realControlPlane } from '../../support/parts.js'
import { waitUntil } from '../../support/wait.js'

export const NODES = '/api/v1/nodes'
export const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets'
export const PODS = '/api/v1/namespaces/default/pods'
const ROOMY = { cpu: '4', memory: '8Gi', pods: '110' }
const NODE_LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
export const WORKLOADS = '/apis/apps/v1/namespaces/default'

export const MERGE = 'application/merge-patch+json'
export const STRATEGIC = 'application/strategic-merge-patch+json'
export const JSON_PATCH = 'application/json-patch+json'
export const APPLY = 'application/apply-patch+yaml'

interface Cluster extends ControlPlaneClient {
  readonly apiServer: Pick<ControlPlanePart, 'pause' | 'resume' | 'kill' | 'restart'>
  readonly etcd: Pick<ControlPlanePart, 'pause' | 'resume'>
  readonly controllerManager: Pick<ControlPlanePart, 'pause' | 'resume'>
}

const EMBEDDED = { name: 'the embedded Kubernetes', start: embeddedControlPlane }
const REAL = { name: 'a real control plane', start: realControlPlane }
/** Without the real parts, or where the embedded one takes their place, there is nothing to compare with. */
const IS_ALONE = process.env.NODEROLL_TEST_PARTS === 'none' || process.env.NODEROLL_KUBERNETES === 'embedded'

/**
 * The same expectations, held against a real control plane and the embedded one: where they differ, the embedded one is
 * wrong. Each gives the suite a cluster that has been emptied, and a namespace of its own.
 */
export function onBoth(title: string, suite: (cluster: () => ClusterUnderTest) => void): void {
  describe.each(IS_ALONE ? [EMBEDDED] : [REAL, EMBEDDED])(`${title}: $name`, ({ start }) => {
    let cluster: ClusterUnderTest
    beforeAll(async () => {
      cluster = await ClusterUnderTest.open(await start())
    })
    afterAll(async () => {
      await cluster.close()
    })
    suite(() => cluster)
  })
}

export class ClusterUnderTest {
  readonly kube: Cluster
  readonly namespace: string

  private constructor(kube: Cluster, namespace: string) {
    this.kube = kube
    this.namespace = namespace
  }

  static async open(kube: Cluster): Promise<ClusterUnderTest> {
    const namespace = `conformance-${randomUUID().slice(0, 8)}`
    // Not labelled as the tests' namespaces are: it outlives the cleaning between two tests.
    await kube.api.ok('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
    return new ClusterUnderTest(kube, namespace)
  }

  get api() {
    return this.kube.api
  }

  /** `NS` in a path stands for the suite's own namespace. */
  path(path: string): string {
    return path.replace('/NS/', `/namespaces/${this.namespace}/`)
  }

  async call(method: string, path: string, body?: unknown, contentType?: string): Promise<KubeAnswer> {
    return await this.api.call(method, this.path(path), body, contentType ? { contentType } : {})
  }

  /** As the administrator unless the headers say otherwise. */
  async callWith(headers: Readonly<Record<string, string>>, path: string, method = 'GET') {
    const { url, ca } = this.kube.access
    const dispatcher = new Agent({ connect: { ca } })
    const authorization = `Bearer ${this.kube.token('admin')}`
    const answer = await request(url + this.path(path), {
      ...{ method: method as Dispatcher.HttpMethod, dispatcher },
      headers: { authorization, ...headers },
    })
    const text = await answer.body.text()
    await dispatcher.close()
    // biome-ignore lint/suspicious/noExplicitAny: tests look into objects of every kind
    const body: any = text.startsWith('{') ? JSON.parse(text) : null
    return { status: answer.statusCode, headers: answer.headers, body, text }
  }

  async ok(method: string, path: string, body?: unknown, contentType?: string): Promise<KubeObject> {
    return await this.api.ok(method, this.path(path), body, contentType ? { contentType } : {})
  }

  async get(path: string): Promise<KubeObject> {
    return await this.ok('GET', path)
  }

  async list(path: string): Promise<KubeObject[]> {
    return await this.api.list(this.path(path))
  }

  /** The object, as soon as it is as it should be. */
  async until(path: string, what: string, holds: (object: KubeObject) => boolean): Promise<KubeObject> {
    return await waitUntil(
      async () => {
        const object = await this.get(path)
        return holds(object) && object
      },
      { for: `${path} to ${what}`, timeoutMs: 15_000 },
    )
  }

  /** A node as soon as the controllers are done with it, Ready unless told otherwise. */
  async addNode(
    name: string,
    { labels = {}, ready = 'True', spec = {}, capacity = ROOMY } = {},
  ): Promise<KubeObject> {
    const hostname = { 'kubernetes.io/hostname': name }
    // A real control plane takes a node for dead whose name it knows and whose Lease it does not.
    await this.ok('POST', NODE_LEASES, {
      metadata: { name },
      spec: { holderIdentity: name, renewTime: now() },
    })
    await this.ok('POST', NODES, {
      metadata: { name, labels: { ...hostname, ...labels } },
      spec,
      status: {
        capacity,
        allocatable: capacity,
        conditions: [{ type: 'Ready', status: ready }],
      },
    })
    return await this.until(
      `${NODES}/${name}`,
      'be settled',
      (node) =>
        'node.alpha.kubernetes.io/ttl' in (node.metadata.annotations ?? {}) &&
        (ready !== 'True' || !hasTaint(node, 'node.kubernetes.io/not-ready')),
    )
  }

  /** A pod on a node, Running and Ready unless told otherwise, as a kubelet would say. */
  async addPod(
    name: string,
    nodeName: string,
    { phase = 'Running', ready = 'True', metadata = {}, spec = {} } = {},
  ): Promise<KubeObject> {
    await this.ok('POST', PODS, {
      metadata: { name, labels: { app: name }, ...metadata },
      spec: { nodeName, tolerations: [{ operator: 'Exists' }], containers: [CONTAINER], ...spec },
    })
    return await this.sayRunning(name, phase, ready)
  }

  async sayRunning(name: string, phase = 'Running', ready = 'True'): Promise<KubeObject> {
    const status = { phase, conditions: [{ type: 'Ready', status: ready }] }
    return await this.ok('PATCH', `${PODS}/${name}/status`, { status })
  }

  async evict(name: string, deleteOptions: object = {}): Promise<KubeAnswer> {
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name }, deleteOptions }
    return await this.call('POST', `${PODS}/${name}/eviction`, eviction)
  }

  async clean(): Promise<void> {
    await cleanCluster(this.kube)
  }

  async close(): Promise<void> {
    await cleanCluster(this.kube)
    await this.call('DELETE', `/api/v1/namespaces/${this.namespace}`)
    this.kube.close()
  }
}

function now(): string {
  return new Date().toISOString().replace('Z', '000Z')
}

export const CONTAINER = { name: 'main', image: 'registry.example/app:1' }

export function hasTaint(node: KubeObject, key: string): boolean {
  return ((node.spec.taints ?? []) as { key: string }[]).some((taint) => taint.key === key)
}

export function conditionOf(object: KubeObject, type: string) {
  const conditions = (object.status?.conditions ?? []) as { type: string; status: string; reason?: string }[]
  return conditions.find((condition) => condition.type === type)
}
