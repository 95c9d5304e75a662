import type { NodeJob } from '../../api/activities.js'
import { failure } from '../../api/failures.js'
import { whoseTurn } from '../../core/drain/order.js'
import { type PodsLeft, sortPods } from '../../core/drain/pods-left.js'
import { silentSeconds } from '../../core/drain/silence.js'
import { type PodStanding, sayWaits } from '../../core/drain/standing.js'
import type { NodeRecord } from '../../core/model.js'
import { type BudgetRecord, type PodRecord, podName, selectsLabels } from '../../core/pods.js'
import type { DrainPolicy } from '../../core/spec.js'
import type { Cluster, Kept, Watching } from '../../ports/cluster.js'
import type { Connections, World } from '../../ports/connections.js'
import type { Attempt } from '../attempt.js'
import { myNode } from '../my-node.js'
import type { Seen } from '../wait.js'
import { cordonedNode } from './cordon-again.js'
import { Evictions } from './evictions.js'
import { ForcedDeletion } from './forced-deletion.js'
import { DaemonSets } from './pods-left.js'
import { VolumesLeft } from './volumes-left.js'

/** How often, at the least, the drain makes sure the node is still its own, in milliseconds. */
const REASSURE_MS = 5_000
/** No eviction begins when that has not been certain for this long: the API server may not answer. */
const CERTAIN_MS = 10_000

export type DrainJob = NodeJob & { readonly policy: DrainPolicy }

/** One drain under way: what is seen of the node, and what is done about it. Nothing is done outside `look`'s orders. */
export class NodeDrain {
  readonly #world: World
  readonly #connections: Connections
  readonly #job: DrainJob
  readonly #attempt: Attempt
  readonly #daemonSets: DaemonSets
  readonly #evictions: Evictions
  readonly #forced: ForcedDeletion
  readonly #givenUp: string[] = []
  #wake: () => void = () => undefined
  #pods: Kept<PodRecord> | null = null
  #volumes: VolumesLeft | null = null
  #node: NodeRecord
  #nodeChanged = false
  #reassuredAtMs = performance.now()
  #settled: NodeJS.Timeout | undefined

  /** `node` has just been proven ours. */
  constructor(world: World, connections: Connections, job: DrainJob, attempt: Attempt, node: NodeRecord) {
    this.#world = world
    this.#connections = connections
    this.#job = job
    this.#attempt = attempt
    this.#node = node
    this.#daemonSets = new DaemonSets(connections.cluster)
    this.#forced = new ForcedDeletion(connections, job.policy, attempt)
    this.#evictions = new Evictions({
      evict: (pod) => {
        attempt.mayStillAct()
        return connections.cluster.evict(pod, job.policy.gracePeriodSeconds, attempt.signal)
      },
      nameBudgets: (pod) => sayBudgets(connections.cluster, pod, attempt.signal),
      parallel: job.policy.parallelEvictions,
      onAnswer: () => this.#wake(),
    })
  }

  /** Everything that tells of a change; closed by whoever asked. */
  watch(wake: () => void): readonly Watching[] {
    const { cluster } = this.#connections
    this.#wake = wake
    this.#pods = cluster.keepPodsOn(this.#node.name, wake)
    this.#volumes =
      this.#job.policy.volumes === 'detach' ? new VolumesLeft(cluster, this.#node.name, wake) : null
    const ofNode = cluster.watchNodes(() => {
      this.#nodeChanged = true
      wake()
    }, this.#node.name)
    return [this.#pods, ofNode, ...(this.#volumes === null ? [] : [this.#volumes])]
  }

  /** Looks, asks to go whose turn it is, and says what is waited for. Throws `DrainRefused` or `DrainBlocked`. */
  async look(): Promise<Seen<true>> {
    await this.#mustBeMine()
    const { signal } = this.#attempt
    // Pods that nobody watches are unknown, which is not none.
    if (this.#pods === null) throw new Error(`the pods of ${this.#node.name} are not watched yet`)
    const pods = await this.#pods.current(signal)
    const left = sortPods(pods, this.#job.policy, {
      daemonSets: await this.#daemonSets.of(pods, signal),
      silentSeconds: silentSeconds(this.#node, Date.now()),
    })
    this.#mustBeAllowed(left)
    await this.#volumes?.mustBeReadable(signal)
    const settling = this.#settling()
    if (settling !== null) return { why: [settling] }
    if (left.evict.length + left.wait.length > 0) return this.#evict(left)
    const staying = left.stay.map(({ pod }) => pod)
    const volumes = (await this.#volumes?.left(staying, signal)) ?? []
    if (volumes.length > 0) return { why: volumes }
    await this.#sayGivenUp(left)
    return { done: true }
  }

  /** Resolves when no request of this drain is under way any more. */
  async end(): Promise<{ evicted: number; warnings: readonly string[] }> {
    clearTimeout(this.#settled)
    await this.#evictions.end()
    return { evicted: this.#evictions.accepted, warnings: this.warnings }
  }

  /** What a person should hear of, however the drain ends. */
  get warnings(): readonly string[] {
    return [...this.#forced.warnings, ...this.#givenUp]
  }

  /** At the end only: until then they may still go. */
  async #sayGivenUp({ givenUp }: PodsLeft): Promise<void> {
    for (const { pod, why } of givenUp) {
      const warning = `pod ${podName(pod)} on ${this.#node.name} was not waited for: ${why}`
      this.#givenUp.push(warning)
      await this.#connections.cluster.nodeEvent(this.#node, 'Warning', 'NotWaitedFor', warning)
    }
  }

  /** Lease, token and cordon: now and then, and whenever the node has changed. */
  async #mustBeMine(): Promise<void> {
    if (performance.now() - this.#reassuredAtMs >= REASSURE_MS) await this.#reassure()
    if (this.#node.unschedulable && !this.#nodeChanged) return
    this.#nodeChanged = false
    this.#node = await cordonedNode(this.#connections.cluster, this.#attempt, this.#job)
  }

  async #reassure(): Promise<void> {
    const now = performance.now()
    this.#nodeChanged = false
    this.#node = (await myNode(this.#world, this.#connections, this.#job, this.#attempt)) ?? this.#node
    this.#reassuredAtMs = now
  }

  /** As things are now, and only while the node is still ours: evictions and others have gone on meanwhile. */
  async #isStillHeld(pod: PodRecord): Promise<boolean> {
    await this.#reassure()
    const pods = (await this.#pods?.current(this.#attempt.signal)) ?? []
    const isThere = pods.some(({ uid, terminating }) => uid === pod.uid && !terminating)
    return isThere && this.#evictions.standingOf(pod).kind === 'held'
  }

  #mustBeAllowed({ refused }: PodsLeft): void {
    if (refused.length === 0) return
    throw failure(
      'DrainRefused',
      `drain of ${this.#node.name} is refused: ${refused.join('; ')}. ` +
        'Move or delete those pods, or allow it in the spec (drain.barePods, drain.emptyDir)',
    )
  }

  /** Load balancers take a while to notice; also a DaemonSet's pod may serve through them until the machine stops. */
  #settling(): string | null {
    const { loadBalancerSettleSeconds: seconds } = this.#job.policy
    const leftMs = seconds * 1000 - this.#attempt.sinceScheduledMs()
    if (leftMs <= 0) return null
    this.#settled ??= setTimeout(this.#wake, leftMs + 1)
    return `external load balancers have ${seconds} s to stop using ${this.#node.name} (drain.loadBalancerSettle)`
  }

  async #evict(left: PodsLeft): Promise<Seen<true>> {
    const { order } = this.#job.policy
    const turn = new Set(whoseTurn([...left.evict, ...left.wait], order).map(({ pod }) => pod.uid))
    const due = left.evict.map(({ pod }) => pod).filter(({ uid }) => turn.has(uid))
    this.#evictions.want(due, this.#reassuredAtMs + CERTAIN_MS)
    const standings: PodStanding[] = [
      ...left.evict.map(({ pod }) => ({
        pod,
        standing: turn.has(pod.uid) ? this.#evictions.standingOf(pod) : ({ kind: 'queued' } as const),
      })),
      ...left.wait.map(({ pod, why }) => ({ pod, standing: { kind: 'waits', why } as const })),
    ]
    await this.#forced.forceOne(standings, this.#node, (pod) => this.#isStillHeld(pod))
    const why = [...this.#forced.refused, ...sayWaits(standings)]
    const atWork = standings.some(({ standing: { kind } }) => kind !== 'failed' && kind !== 'queued')
    if (!atWork) {
      throw failure('DrainBlocked', `drain of ${this.#node.name} cannot end: ${why.join('; ')}`)
    }
    return { why }
  }
}

/** The server says that there is more than one, and not which. */
async function sayBudgets(cluster: Cluster, pod: PodRecord, signal: AbortSignal): Promise<string> {
  const budgets = await cluster.budgets(pod.namespace, signal)
  const names = budgets.filter((budget) => isOver(budget, pod)).map(podName)
  return `budgets ${names.join(' and ')} select the same pods, which the eviction API refuses`
}

function isOver({ selector }: BudgetRecord, pod: PodRecord): boolean {
  return selector !== null && selectsLabels(selector, pod.labels)
}
