import { setTimeout as pause } from 'node:timers/promises'
import { podsOf } from './batch-pods.js'
import type { KubeObject } from './kube-api.js'
import type { RolloutBed } from './rollout-bed.js'
import { waitUntil } from './wait.js'
import type { WorkerProcess } from './worker-process.js'

const LOOK_EVERY_MS = 50

/**
 * noderoll's workers as pods of the cluster that they roll: a real process for each pod of the app that runs, killed as
 * soon as its pod has gone or its machine is off.
 */
export class WorkerPods {
  /** The nodes on which a worker was started, and those on which one was killed, in order. */
  readonly startedOn: string[] = []
  readonly killedOn: string[] = []
  readonly #bed: RolloutBed
  readonly #app: string
  readonly #temporal: string | undefined
  /** By UID of the pod. */
  readonly #processes = new Map<string, { readonly node: string; readonly process: WorkerProcess }>()
  readonly #stopped = new AbortController()
  readonly #ended: Promise<void>

  private constructor(bed: RolloutBed, app: string, temporal: string | undefined) {
    this.#temporal = temporal
    this.#bed = bed
    this.#app = app
    this.#ended = this.#follow()
  }

  /** Resolves when the first of them polls. `temporal` is the address by which they know it. */
  static async start(bed: RolloutBed, app: string, temporal?: string): Promise<WorkerPods> {
    const pods = new WorkerPods(bed, app, temporal)
    await waitUntil(() => pods.startedOn.length > 0, { for: `a worker in a pod of ${app}` })
    return pods
  }

  /** Nobody is started any more, and all are killed. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#ended
    await Promise.all([...this.#processes.values()].map(({ process }) => process.end()))
  }

  async #follow(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      const running = (await podsOf(this.#bed.kube.api, this.#app)).filter((pod) => this.#runs(pod))
      const uids = new Set(running.map(({ metadata }) => metadata.uid))
      for (const [uid, { node, process }] of this.#processes) {
        if (uids.has(uid)) continue
        process.kill()
        this.#processes.delete(uid)
        this.killedOn.push(node)
      }
      for (const pod of running) await this.#ensure(pod)
      await pause(LOOK_EVERY_MS)
    }
  }

  #runs({ spec, status }: KubeObject): boolean {
    if (spec.nodeName === undefined || status?.phase !== 'Running') return false
    return this.#bed.cluster.cloud.machine(spec.nodeName).power === 'running'
  }

  async #ensure({ metadata, spec }: KubeObject): Promise<void> {
    const { uid = '', name, namespace = 'default' } = metadata
    if (this.#processes.has(uid)) return
    const node = spec.nodeName as string
    const process = await this.#bed.startWorkerProcess(this.#bed.namespace, {
      place: { node, namespace, pod: name },
      ...(this.#temporal === undefined ? {} : { knowsTemporalAs: this.#temporal }),
    })
    this.#processes.set(uid, { node, process })
    this.startedOn.push(node)
  }
}
