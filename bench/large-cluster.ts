import { randomUUID } from 'node:crypto'
import { SimulatedCloud } from '../src/simulation/cloud.js'
import type { SimulatedMachine } from '../src/simulation/cloud-state.js'
import type { ControlPlane } from '../test/support/control-plane.js'

const NODES = '/api/v1/nodes'
const PODS = '/api/v1/pods'
const AT_ONCE = 24

/**
 * Nodes and pods as large as real ones, written straight into a control plane without controllers, and just as much of a
 * kubelet as a rollout needs: nodes follow their machines, deleted pods end.
 */
export class LargeCluster {
  readonly cloud = new SimulatedCloud()
  readonly name: string
  readonly machines: SimulatedMachine[] = []
  readonly #kube: ControlPlane
  readonly #ended = new AbortController()
  readonly #state = new Map<string, string>()

  constructor(name: string, kube: ControlPlane) {
    this.name = name
    this.#kube = kube
  }

  async start(): Promise<void> {
    await this.cloud.start()
    this.cloud.machineChanges.subscribe((machine) => void this.#follow(machine))
    void this.#endPods()
  }

  async close(): Promise<void> {
    this.#ended.abort()
    await this.cloud.close()
  }

  /** Adds nodes, each with so many pods, until there are `nodes`. */
  async growTo(nodes: number, podsPerNode: number): Promise<void> {
    const added: SimulatedMachine[] = []
    while (this.machines.length < nodes) {
      const name = `w-${this.machines.length + 1}`
      const machine = this.cloud.addMachine({ cluster: this.name, name, type: 'worker', offering: 'large' })
      this.#state.set(machine.id, machine.power)
      this.machines.push(machine)
      added.push(machine)
    }
    await inParallel(added, async (machine) => {
      await this.#kube.api.ok('POST', NODES, realNode(machine))
      for (let n = 1; n <= podsPerNode; n++)
        await this.#kube.api.ok('POST', '/api/v1/namespaces/default/pods', realPod(machine.name, n))
    })
  }

  /** What a kubelet says when its machine has gone down or has come up. */
  async #follow(machine: SimulatedMachine): Promise<void> {
    const before = this.#state.get(machine.id)
    this.#state.set(machine.id, machine.power)
    const isUp = machine.power === 'running'
    if (before === undefined || before === machine.power || (!isUp && before !== 'running')) return
    const status = {
      conditions: conditions(isUp),
      ...(isUp ? { nodeInfo: { ...NODE_INFO, bootID: randomUUID() } } : {}),
    }
    await this.#kube.api.ok('PATCH', `${NODES}/${machine.name}/status`, { status })
  }

  async #endPods(): Promise<void> {
    const { signal } = this.#ended
    while (!signal.aborted) {
      try {
        const { metadata } = await this.#kube.api.ok('GET', `${PODS}?limit=1`)
        for await (const { object } of this.#kube.api.watch(
          `${PODS}?resourceVersion=${metadata.resourceVersion}`,
          signal,
        )) {
          const { name, namespace, deletionTimestamp } = object.metadata
          if (deletionTimestamp === undefined) continue
          const path = `/api/v1/namespaces/${namespace}/pods/${name}?gracePeriodSeconds=0`
          await this.#kube.api.call('DELETE', path)
        }
      } catch (error) {
        if (!signal.aborted) console.error(error)
      }
    }
  }
}

async function inParallel<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const left = [...items]
  const work = async () => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await act(item)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

const NODE_INFO = {
  machineID: '',
  systemUUID: '',
  kernelVersion: '6.8.0-1021-cloud',
  osImage: 'Ubuntu 24.04.2 LTS',
  containerRuntimeVersion: 'containerd://2.1.0',
  kubeletVersion: 'v1.36.0',
  kubeProxyVersion: '',
  operatingSystem: 'linux',
  architecture: 'amd64',
}

const CAPACITY = { cpu: '4', memory: '16384000Ki', pods: '110', 'ephemeral-storage': '64000000Ki' }

function conditions(isReady: boolean): unknown {
  const at = new Date().toISOString()
  const times = { lastHeartbeatTime: at, lastTransitionTime: at }
  const pressures = ['Memory', 'Disk', 'PID'].map((resource) => ({
    type: `${resource}Pressure`,
    status: 'False',
    reason: `KubeletHasNo${resource}Pressure`,
    message: `kubelet has no ${resource.toLowerCase()} pressure`,
    ...times,
  }))
  const reason = isReady ? 'KubeletReady' : 'KubeletNotReady'
  const ready = { type: 'Ready', status: isReady ? 'True' : 'False', reason, message: reason, ...times }
  return [...pressures, ready]
}

/** 15 to 20 kB, as nodes of managed clusters are: 50 images, labels and annotations of half a dozen controllers. */
function realNode({ name, providerId, ip }: SimulatedMachine): unknown {
  const digest = '0123456789abcdef'.repeat(4)
  const labels = Object.fromEntries(
    Array.from({ length: 18 }, (_, n) => [`node.example.com/label-${n}`, `value-${n}-of-${name}`]),
  )
  const annotations = Object.fromEntries(
    Array.from({ length: 8 }, (_, n) => [
      `controller-${n}.example.com/state`,
      JSON.stringify({ name, digest }),
    ]),
  )
  const images = Array.from({ length: 50 }, (_, n) => ({
    names: [
      `registry.example.com/team-${n}/image-${n}@sha256:${digest}`,
      `registry.example.com/team-${n}/image-${n}:v1.${n}`,
    ],
    sizeBytes: 100_000_000 + n,
  }))
  return {
    metadata: { name, labels: { ...labels, 'kubernetes.io/hostname': name }, annotations },
    spec: { providerID: providerId },
    status: {
      addresses: [{ type: 'InternalIP', address: ip }],
      capacity: CAPACITY,
      allocatable: CAPACITY,
      nodeInfo: { ...NODE_INFO, bootID: randomUUID() },
      conditions: conditions(true),
      images,
    },
  }
}

function realPod(nodeName: string, n: number): unknown {
  const owner = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name: `app-${n}`,
    uid: `app-${n}`,
    controller: true,
  }
  return {
    metadata: { name: `${nodeName}-app-${n}`, labels: { app: `app-${n}` }, ownerReferences: [owner] },
    spec: {
      nodeName,
      terminationGracePeriodSeconds: 1,
      tolerations: [{ operator: 'Exists' }],
      containers: [
        { name: 'main', image: `registry.example.com/app-${n}:v1`, env: [{ name: 'NODE', value: nodeName }] },
      ],
    },
  }
}
