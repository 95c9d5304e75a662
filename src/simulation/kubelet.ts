import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SimulatedMachine, SimulatedOffering } from './cloud-state.js'
import { hasStatus, type KubeApi } from './kube-api.js'
import { type KubeletScript, NO_ODDITIES } from './kubelet-script.js'
import type { NodeCache } from './node-cache.js'
import { renewLease } from './node-lease.js'
import {
  type NodeObject,
  type NodeReport,
  newNode,
  nodeLabels,
  readyOf,
  readyPatch,
  statusPatch,
} from './node-object.js'
import { ensureStaticPods } from './static-pods.js'

/** What a kubelet shares with those of the other machines. */
export interface KubeletWorld {
  readonly api: KubeApi
  readonly nodes: NodeCache
  readonly kubeletVersion: string
  readonly podsPerNode: number
  readonly markNotReadyAtOnce: boolean
  readonly staticPods: boolean
  readonly leases: boolean
  offering(name: string): SimulatedOffering
  bootMs(): number
  /** The containers of the node start; `restarted`: they ran before. */
  up(nodeName: string, restarted: boolean): void
  down(nodeName: string): void
}

const SHORTEST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1_000

/**
 * Keeps one Node object in step with one machine. It only ever compares what should be said with what the API server
 * has, one write at a time, so that a late write of a machine that is off by now cannot overtake a newer one.
 */
export class Kubelet {
  readonly machine: SimulatedMachine
  readonly script: KubeletScript = { ...NO_ODDITIES }
  readonly #world: KubeletWorld
  readonly #closed = new AbortController()
  #phase: 'off' | 'booting' | 'up' = 'off'
  #shutDown = true
  #bootId = ''
  /** `upSince` of the machine's present run. */
  #run: number | null = null
  #rootFsGiB = 0
  /** Up, but not yet Ready: the script says so for a while after each boot. */
  #settling = false
  /** A kubelet registers when it starts, never later (as the real one). */
  #registers = false
  #knowsNode = false
  #bootTimer: NodeJS.Timeout | undefined
  #readyTimer: NodeJS.Timeout | undefined
  #dirty = false
  #working = false

  constructor(machine: SimulatedMachine, world: KubeletWorld) {
    this.machine = machine
    this.#world = world
  }

  get isUp(): boolean {
    return this.#phase === 'up'
  }

  /** Looks at the machine again: it may have been started, stopped or changed. */
  powerChanged(): void {
    const { power, upSince } = this.machine
    if (power === 'running' && upSince !== null) {
      if (upSince !== this.#run) this.#begin(upSince)
      else if (this.#phase === 'off') this.#comeUp(false)
    } else if (this.#phase !== 'off') {
      this.#phase = 'off'
      this.#shutDown = power === 'stopping'
      clearTimeout(this.#bootTimer)
      clearTimeout(this.#readyTimer)
      this.#world.down(this.machine.name)
      this.wake()
    }
  }

  /** Restarts the operating system within an instant: the machine never stops, the node is never NotReady. */
  reboot(): void {
    if (this.#phase !== 'up') throw new Error(`${this.machine.name} is not up`)
    this.#bootId = randomUUID()
    this.#comeUp(true)
  }

  /** Something may differ from what the Node says. */
  wake(): void {
    this.#dirty = true
    if (!this.#working) void this.#work()
  }

  /** Renews the node's Lease while the machine is up. Never throws: the next one is due soon. */
  async renewLease(): Promise<void> {
    if (this.#phase !== 'up' || !this.#world.leases) return
    const uid = this.#world.nodes.get(this.machine.name)?.metadata.uid
    if (uid !== undefined) await renewLease(this.#world.api, this.machine.name, uid)
  }

  close(): void {
    this.#closed.abort()
    clearTimeout(this.#bootTimer)
    clearTimeout(this.#readyTimer)
  }

  #begin(upSince: number): void {
    const restarted = this.#run !== null
    this.#run = upSince
    this.#phase = 'booting'
    clearTimeout(this.#bootTimer)
    const boot = () => {
      if (!this.script.keepsBootId || this.#bootId === '') this.#bootId = randomUUID()
      if (!this.script.rootFsDoesNotGrow || this.#rootFsGiB === 0) this.#rootFsGiB = this.machine.rootDiskGiB
      this.#registers = true
      this.#comeUp(restarted)
      void this.renewLease()
    }
    this.#bootTimer = setTimeout(boot, Math.max(0, upSince + this.#world.bootMs() - Date.now()))
  }

  #comeUp(restarted: boolean): void {
    this.#phase = 'up'
    clearTimeout(this.#readyTimer)
    this.#settling = this.script.notReadyMs > 0
    if (this.#settling) {
      this.#readyTimer = setTimeout(() => {
        this.#settling = false
        this.wake()
      }, this.script.notReadyMs)
    }
    this.#world.up(this.machine.name, restarted)
    this.wake()
  }

  async #work(): Promise<void> {
    this.#working = true
    let pause = SHORTEST_PAUSE_MS
    while (this.#dirty && !this.#closed.signal.aborted) {
      this.#dirty = false
      try {
        await this.#step()
        pause = SHORTEST_PAUSE_MS
      } catch (error) {
        this.#dirty = true
        const node = this.#world.nodes.get(this.machine.name)
        if (hasStatus(error, 404) && node !== undefined)
          this.#world.nodes.remove(node.metadata.name, node.metadata.uid)
        await sleep(pause, undefined, { signal: this.#closed.signal }).catch(() => undefined)
        pause = Math.min(pause * 2, LONGEST_PAUSE_MS)
      }
    }
    this.#working = false
  }

  async #step(): Promise<void> {
    const { api, nodes } = this.#world
    if (!nodes.synced) return
    const node = nodes.get(this.machine.name)
    if (this.#phase !== 'up') {
      if (node !== undefined) await this.#markNotReady(node)
      return
    }
    if (node === undefined) return await this.#register()
    if (!this.#knowsNode && node.spec.providerID !== this.machine.providerId) {
      // Left over from another simulation with the same names; its providerID can never be changed.
      await api.delete(pathOf(node.metadata.name), { preconditions: { uid: node.metadata.uid } })
      nodes.remove(node.metadata.name, node.metadata.uid)
      return await this.#register()
    }
    this.#knowsNode = true
    if (this.#registers) await this.#started(node)
    this.#registers = false
    const patch = statusPatch(node, this.machine, this.#report())
    if (patch !== null) nodes.put(await api.patch<NodeObject>(`${pathOf(node.metadata.name)}/status`, patch))
  }

  async #register(): Promise<void> {
    const { api, nodes } = this.#world
    if (!this.#registers || this.script.doesNotRegister) return
    try {
      nodes.put(await api.create<NodeObject>('/api/v1/nodes', newNode(this.machine, this.#report())))
      this.#knowsNode = true
      await this.renewLease()
    } catch (error) {
      if (!hasStatus(error, 409)) throw error
      nodes.put(await api.get<NodeObject>(pathOf(this.machine.name)))
    }
    this.#dirty = true
  }

  /** What a kubelet does once after each boot: labels that follow the machine, and its static pods. */
  async #started(node: NodeObject): Promise<void> {
    const { api, nodes, staticPods } = this.#world
    const labels = nodeLabels(this.machine)
    if (Object.entries(labels).some(([key, value]) => node.metadata.labels?.[key] !== value)) {
      const patch = { metadata: { uid: node.metadata.uid, labels } }
      nodes.put(await api.patch<NodeObject>(pathOf(node.metadata.name), patch))
    }
    if (staticPods) await ensureStaticPods(api, this.machine, node.metadata.uid)
  }

  /** What a clean shutdown says by itself, and what the node lifecycle controller finds out 40 s after a crash. */
  async #markNotReady(node: NodeObject): Promise<void> {
    if (!this.#world.markNotReadyAtOnce || this.script.fastReboot) return
    if (
      node.spec.providerID !== this.machine.providerId ||
      readyOf(node.status.conditions)?.status !== 'True'
    )
      return
    const ready = this.#shutDown
      ? ({ status: 'False', reason: 'KubeletNotReady', message: 'node is shutting down' } as const)
      : ({
          status: 'Unknown',
          reason: 'NodeStatusUnknown',
          message: 'Kubelet stopped posting node status.',
        } as const)
    const patch = readyPatch(node, ready, this.#now())
    this.#world.nodes.put(
      await this.#world.api.patch<NodeObject>(`${pathOf(node.metadata.name)}/status`, patch),
    )
  }

  #report(): NodeReport {
    const ready = !this.script.neverReady && !this.#settling
    return {
      ready: ready
        ? { status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' }
        : { status: 'False', reason: 'KubeletNotReady', message: 'container runtime network not ready' },
      bootId: this.#bootId,
      offering: this.#world.offering(this.machine.offering),
      rootFsGiB: this.#rootFsGiB,
      pods: this.#world.podsPerNode,
      kubeletVersion: this.#world.kubeletVersion,
      now: this.#now(),
    }
  }

  #now(): string {
    return new Date(Date.now() + this.script.clockAheadMs).toISOString()
  }
}

function pathOf(nodeName: string): string {
  return `/api/v1/nodes/${nodeName}`
}
