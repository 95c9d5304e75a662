import type { KubeConfig } from '@kubernetes/client-node'
import type { SimulatedCloud } from './cloud.js'
import type { SimulatedMachine } from './cloud-state.js'
import { hasStatus, KubeApi } from './kube-api.js'
import { Kubelet, type KubeletWorld } from './kubelet.js'
import type { KubeletScript } from './kubelet-script.js'
import { NodeCache } from './node-cache.js'
import { type NodeObject, readyOf } from './node-object.js'
import type { PodObject } from './pod-object.js'
import { Pods } from './pods.js'
import { watchLoop } from './watch-loop.js'

export interface SimulatedKubeletsOptions {
  readonly kubeConfig: KubeConfig
  /** Other API servers of the cluster. */
  readonly endpoints?: readonly string[]
  readonly cloud: SimulatedCloud
  readonly cluster: string
  /**
   * A node whose machine stops is NotReady at once, as after a clean shutdown, and so are its pods. Otherwise the node
   * just falls silent, and a node lifecycle controller notices after its grace period. Default: yes.
   */
  readonly markNotReadyAtOnce?: boolean
  /** Mirror pods of the control plane on control machines. Default: yes. */
  readonly staticPods?: boolean
  /** 0: no Leases. They keep a node lifecycle controller from taking the nodes for dead. Default 5 s. */
  readonly leaseRenewMs?: number
  /** Pods end after so long when their grace period is not shorter; null (default): after their grace period. */
  readonly terminationMs?: number | null
  readonly kubeletVersion?: string
  readonly podsPerNode?: number
}

const LEASE_RENEW_MS = 5_000
const READY_TIMEOUT_MS = 60_000

/**
 * The kubelets of a simulated cloud's machines, on any Kubernetes API: Node objects, Leases, and the pods bound to the
 * nodes. They react to events of both sides, and keep trying quietly while the API server is away.
 */
export class SimulatedKubelets {
  readonly #options: SimulatedKubeletsOptions
  readonly #api: KubeApi
  readonly #nodes = new NodeCache()
  readonly #pods: Pods
  readonly #world: KubeletWorld
  readonly #kubelets = new Map<string, Kubelet>()
  readonly #closed = new AbortController()
  readonly #running: Promise<void>[] = []
  #leases: NodeJS.Timeout | undefined
  #unsubscribe: (() => void)[] = []

  constructor(options: SimulatedKubeletsOptions) {
    this.#options = options
    const { cloud, kubeConfig, endpoints = [], markNotReadyAtOnce = true } = options
    this.#api = new KubeApi({ kubeConfig, endpoints })
    this.#pods = new Pods({
      api: this.#api,
      machine: (nodeName) => this.#kubelets.get(nodeName)?.machine,
      isUp: (nodeName) => this.#kubelets.get(nodeName)?.isUp ?? false,
      markNotReadyAtOnce,
      terminationMs: options.terminationMs ?? null,
    })
    this.#world = {
      api: this.#api,
      nodes: this.#nodes,
      kubeletVersion: options.kubeletVersion ?? 'v1.36.0',
      podsPerNode: options.podsPerNode ?? 110,
      markNotReadyAtOnce,
      staticPods: options.staticPods ?? true,
      leases: (options.leaseRenewMs ?? LEASE_RENEW_MS) > 0,
      offering: (name) =>
        cloud.state.offerings.find((offering) => offering.name === name) ?? { name, cpu: 1, memoryMiB: 1024 },
      bootMs: () => cloud.state.delays.bootMs,
      up: (nodeName, restarted) => this.#pods.nodeUp(nodeName, restarted),
      down: (nodeName) => this.#pods.nodeDown(nodeName),
    }
  }

  /** Starts working; returns at once. Machines added to the cloud later get their kubelet then. */
  start(): void {
    const { cloud, cluster, leaseRenewMs = LEASE_RENEW_MS } = this.#options
    for (const machine of cloud.machinesOf(cluster)) this.#machineChanged(machine)
    this.#unsubscribe = [
      cloud.machineChanges.subscribe((machine) => this.#machineChanged(machine)),
      this.#nodes.changes.subscribe((name) => this.#kubelets.get(name)?.wake()),
    ]
    this.#running.push(this.#watchNodes(), this.#watchPods())
    if (leaseRenewMs > 0) {
      this.#leases = setInterval(() => {
        for (const kubelet of this.#kubelets.values()) void kubelet.renewLease()
      }, leaseRenewMs)
    }
  }

  /** Changes what this machine's kubelet does oddly, from now on. */
  script(machineName: string, oddities: Partial<KubeletScript>): void {
    const kubelet = this.#kubelet(machineName)
    Object.assign(kubelet.script, oddities)
    kubelet.wake()
  }

  /** Restarts a machine's operating system without stopping the machine; the node is never NotReady. */
  reboot(machineName: string): void {
    this.#kubelet(machineName).reboot()
  }

  /** Resolves when the API server has these nodes (default: those of all running machines) as Ready. */
  async untilReady(names?: readonly string[], timeoutMs = READY_TIMEOUT_MS): Promise<void> {
    const wanted = () =>
      names ?? [...this.#kubelets.values()].filter(isRunning).map(({ machine }) => machine.name)
    let missing: string | undefined
    const isMissing = (name: string) => {
      const kubelet = this.#kubelets.get(name)
      return (names !== undefined || (kubelet !== undefined && isRunning(kubelet))) && !this.#isReady(name)
    }
    const allReady = () => {
      // A look at all of thousands of nodes after each change of one of them would take minutes.
      if (missing !== undefined && isMissing(missing)) return false
      missing = wanted().find(isMissing)
      return missing === undefined
    }
    await this.#nodes.changes.until('all nodes are Ready', allReady, timeoutMs)
  }

  /** Stops everything; the Node objects stay unless they are to be deleted. */
  async close(options: { readonly deleteNodes?: boolean } = {}): Promise<void> {
    clearInterval(this.#leases)
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    for (const kubelet of this.#kubelets.values()) kubelet.close()
    this.#pods.close()
    this.#closed.abort()
    await Promise.all(this.#running)
    if (options.deleteNodes) await this.#deleteNodes()
    await this.#api.close()
  }

  #isReady(name: string): boolean {
    const node = this.#nodes.get(name)
    // A Node left over from another simulation may be Ready, too.
    if (node?.spec.providerID !== this.#kubelet(name).machine.providerId) return false
    return readyOf(node.status.conditions)?.status === 'True'
  }

  #kubelet(machineName: string): Kubelet {
    const kubelet = this.#kubelets.get(machineName)
    if (kubelet === undefined) throw new Error(`No kubelet on ${machineName}`)
    return kubelet
  }

  #machineChanged(machine: SimulatedMachine): void {
    // An external etcd machine is in no cluster as Kubernetes sees it.
    if (machine.cluster !== this.#options.cluster || machine.type === 'etcd') return
    let kubelet = this.#kubelets.get(machine.name)
    if (kubelet === undefined) {
      kubelet = new Kubelet(machine, this.#world)
      this.#kubelets.set(machine.name, kubelet)
    }
    kubelet.powerChanged()
  }

  #watchNodes(): Promise<void> {
    const nodes = this.#nodes
    return watchLoop<NodeObject>(
      this.#api,
      '/api/v1/nodes',
      {},
      {
        onList: (items) => {
          nodes.replaceAll(items)
          // Who has waited for the first answer has no Node yet, and so no event.
          for (const kubelet of this.#kubelets.values()) kubelet.wake()
        },
        onChange: (kind, node) => {
          if (kind === 'DELETED') nodes.remove(node.metadata.name, node.metadata.uid)
          else nodes.put(node)
        },
      },
      this.#closed.signal,
    )
  }

  #watchPods(): Promise<void> {
    return watchLoop<PodObject>(
      this.#api,
      '/api/v1/pods',
      { fieldSelector: 'spec.nodeName!=' },
      {
        onList: (items) => this.#pods.replaceAll(items),
        onChange: (kind, pod) => {
          if (kind === 'DELETED') this.#pods.removed(pod.metadata.uid)
          else this.#pods.seen(pod)
        },
      },
      this.#closed.signal,
    )
  }

  async #deleteNodes(): Promise<void> {
    for (const name of this.#kubelets.keys()) {
      try {
        await this.#api.delete(`/api/v1/nodes/${name}`)
      } catch (error) {
        if (!hasStatus(error, 404)) throw error
      }
    }
  }
}

function isRunning({ machine }: Kubelet): boolean {
  return machine.power === 'running'
}
