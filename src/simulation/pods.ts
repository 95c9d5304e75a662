import type { SimulatedMachine } from './cloud-state.js'
import { hasStatus, type KubeApi } from './kube-api.js'
import {
  hasScript,
  isFinished,
  isReady,
  notReadyPatch,
  type PodObject,
  runningPatch,
  terminationMsOf,
} from './pod-object.js'

export interface PodsWorld {
  readonly api: KubeApi
  /** The machine behind a node name; undefined for nodes that are not ours. */
  machine(nodeName: string): SimulatedMachine | undefined
  isUp(nodeName: string): boolean
  readonly markNotReadyAtOnce: boolean
  /** What ending takes when it is shorter than the pod's grace period; null: the whole grace period. */
  readonly terminationMs: number | null
}

interface Pod {
  object: PodObject
  readonly ip: string
  restarts: number
  /** The containers have to start (again), whatever the object says. */
  mustStart: boolean
  /** When its end is due (monotonic milliseconds); null while nobody has asked for it. */
  endsAt: number | null
  endTimer: NodeJS.Timeout | undefined
  ended: boolean
  dirty: boolean
  working: boolean
}

const SHORTEST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1_000

/** Runs and ends the pods bound to simulated machines, told by one watch. Each pod has one write at a time. */
export class Pods {
  readonly #world: PodsWorld
  readonly #pods = new Map<string, Pod>()
  #count = 0
  #closed = false

  constructor(world: PodsWorld) {
    this.#world = world
  }

  replaceAll(objects: readonly PodObject[]): void {
    const seen = new Set(objects.map(({ metadata }) => metadata.uid))
    for (const uid of [...this.#pods.keys()]) if (!seen.has(uid)) this.removed(uid)
    for (const object of objects) this.seen(object)
  }

  seen(object: PodObject): void {
    const { uid } = object.metadata
    let pod = this.#pods.get(uid)
    if (pod === undefined) {
      this.#count += 1
      const ip = `10.${244 + ((this.#count >> 16) & 7)}.${(this.#count >> 8) & 255}.${this.#count & 255}`
      const mustStart = object.status?.phase !== 'Running'
      pod = {
        ...{ object, ip: object.status?.podIP ?? ip, restarts: 0, mustStart },
        ...{ endsAt: null, endTimer: undefined, ended: false, dirty: false, working: false },
      }
      this.#pods.set(uid, pod)
    } else {
      pod.object = object
    }
    this.#wake(pod)
  }

  removed(uid: string): void {
    clearTimeout(this.#pods.get(uid)?.endTimer)
    this.#pods.delete(uid)
  }

  nodeUp(nodeName: string, restarted: boolean): void {
    for (const pod of this.#podsOn(nodeName)) {
      if (restarted && !isFinished(pod.object)) {
        pod.restarts += 1
        pod.mustStart = true
      }
      this.#wake(pod)
    }
  }

  /** Its containers are gone with the machine; who was ending has ended, but nobody can say so until it is back. */
  nodeDown(nodeName: string): void {
    for (const pod of this.#podsOn(nodeName)) {
      clearTimeout(pod.endTimer)
      this.#wake(pod)
    }
  }

  close(): void {
    this.#closed = true
    for (const pod of this.#pods.values()) clearTimeout(pod.endTimer)
    this.#pods.clear()
  }

  *#podsOn(nodeName: string): Iterable<Pod> {
    for (const pod of this.#pods.values()) if (pod.object.spec.nodeName === nodeName) yield pod
  }

  #wake(pod: Pod): void {
    pod.dirty = true
    if (!pod.working) void this.#work(pod)
  }

  async #work(pod: Pod): Promise<void> {
    pod.working = true
    let pause = SHORTEST_PAUSE_MS
    while (pod.dirty && !this.#closed && this.#pods.get(pod.object.metadata.uid) === pod) {
      pod.dirty = false
      try {
        await this.#step(pod)
        pause = SHORTEST_PAUSE_MS
      } catch (error) {
        // Gone: the watch will say so.
        if (hasStatus(error, 404)) break
        pod.dirty = true
        const wait = pause
        await new Promise((resolve) => setTimeout(resolve, wait))
        pause = Math.min(pause * 2, LONGEST_PAUSE_MS)
      }
    }
    pod.working = false
  }

  async #step(pod: Pod): Promise<void> {
    const { object } = pod
    const nodeName = object.spec.nodeName ?? ''
    const machine = this.#world.machine(nodeName)
    if (machine === undefined) return
    if (!this.#world.isUp(nodeName)) return await this.#machineIsOff(pod)
    if (object.metadata.deletionTimestamp !== undefined) return await this.#end(pod)
    if (isFinished(object)) return
    const wantsReady = !hasScript(object, 'neverReady')
    if (!pod.mustStart && isReady(object) === wantsReady) return
    const patch = runningPatch(object, machine, pod.ip, pod.restarts, new Date().toISOString())
    pod.mustStart = false
    try {
      await this.#world.api.patch(`${pathOf(object)}/status`, patch)
    } catch (error) {
      pod.mustStart = true
      throw error
    }
  }

  async #machineIsOff(pod: Pod): Promise<void> {
    if (!this.#world.markNotReadyAtOnce || pod.object.metadata.deletionTimestamp !== undefined) return
    const patch = notReadyPatch(pod.object, new Date().toISOString())
    if (patch !== null) await this.#world.api.patch(`${pathOf(pod.object)}/status`, patch)
  }

  async #end(pod: Pod): Promise<void> {
    const { object } = pod
    if (pod.ended) return
    const now = performance.now()
    const endsAt = now + terminationMsOf(object, this.#world.terminationMs)
    // A later deletion can shorten the grace period, never lengthen it.
    pod.endsAt = pod.endsAt === null ? endsAt : Math.min(pod.endsAt, endsAt)
    if (hasScript(object, 'ignoresTermination')) return
    if (pod.endsAt > now) {
      clearTimeout(pod.endTimer)
      pod.endTimer = setTimeout(() => this.#wake(pod), pod.endsAt - now)
      return
    }
    // A finalizer keeps the object; its containers have ended nevertheless, and nobody deletes it twice.
    pod.ended = true
    try {
      const preconditions = { uid: object.metadata.uid }
      await this.#world.api.delete(pathOf(object), { gracePeriodSeconds: 0, preconditions })
    } catch (error) {
      pod.ended = false
      throw error
    }
  }
}

function pathOf({ metadata }: PodObject): string {
  return `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`
}
