import type { NodeJob, Verified } from '../api/activities.js'
import { failure } from '../api/failures.js'
import { additions } from '../core/additions.js'
import { batchNodeName } from '../core/batch.js'
import { criticalPodsNotReady } from '../core/critical-pods.js'
import { attemptAnnotation, clearMarksChange, MARK_KEYS } from '../core/marks.js'
import { isMarked, type NodeChange, type NodeRecord, type PoolSettings } from '../core/model.js'
import type { PodRecord } from '../core/pods.js'
import type { Limits } from '../core/spec.js'
import { type Expected, isAnotherMachine, whyNotBack } from '../core/verify.js'
import type { Kept, Watching } from '../ports/cluster.js'
import type { Connections, World } from '../ports/connections.js'
import { type Attempt, attempting } from './attempt.js'
import { changeNode } from './change-node.js'
import { etcdView } from './facts.js'
import { tellNode } from './node-events.js'
import { holderOf } from './ours.js'
import { orFailure } from './port-failure.js'
import { type Seen, waitFor } from './wait.js'

const SLOWEST_SECONDS = 2

type VerifyInput = NodeJob & { limits: Limits; settings: PoolSettings }

/**
 * Waits until the node is back (CKS-18), twice `settle` apart, then gives it back as it was found (K3). Until then it is
 * kept cordoned, also when its Node object was replaced while the machine was off (B11). Throws `VerifyFailed` naming what
 * is missing.
 */
export function verifyNode(world: World) {
  return async (input: VerifyInput): Promise<Verified> =>
    attempting(batchNodeName(input.node), (attempt) =>
      orFailure(`verify of ${batchNodeName(input.node)}`, 'VerifyFailed', async () => {
        const connections = await world.connect(input.target)
        const verifying = new Verifying(world, connections, input, attempt)
        const node = await waitFor<NodeRecord | 'noNode'>(attempt, {
          slowestSeconds: SLOWEST_SECONDS,
          // Without a Node to watch, any change of any node wakes it.
          ...(input.node.node === null ? { leastSeconds: 1 } : {}),
          watch: (wake) =>
            input.node.type === 'etcd'
              ? []
              : [
                  input.node.node === null
                    ? connections.cluster.watchRecentNodes(wake)
                    : connections.cluster.watchNodes(wake, input.node.node),
                  verifying.podsWatch(wake),
                ],
          partlyWatched: input.node.type !== 'worker',
          limit: {
            seconds: input.limits.verifySeconds,
            fail: (why) =>
              failure(
                'VerifyFailed',
                `${batchNodeName(input.node)} is not back after ${input.limits.verifySeconds} s: ${why.join('; ')}`,
              ),
          },
          look: () => verifying.look(),
        }).finally(() => verifying.end())
        if (node !== 'noNode') await verifying.giveBack(node)
        return { warnings: verifying.warnings }
      }),
    )
}

class Verifying {
  readonly warnings: string[] = []
  private goodSince: number | null = null
  private pods: Kept<PodRecord> | null = null
  private wake: () => void = () => undefined
  private readonly world: World
  private readonly connections: Connections
  private readonly input: VerifyInput
  private readonly attempt: Attempt

  constructor(world: World, connections: Connections, input: VerifyInput, attempt: Attempt) {
    this.world = world
    this.connections = connections
    this.input = input
    this.attempt = attempt
  }

  async look(): Promise<Seen<NodeRecord | 'noNode'>> {
    const { input, connections, attempt } = this
    const holdsMember = input.node.etcdMember && connections.controlPlane !== null
    // A look that throws is none that was good, so it breaks the window, too.
    const { goodSince } = this
    this.goodSince = null
    const finding = this.findNode()
    // A member and an API server go by the name of the Node, also of one that had none before and has joined.
    const name = input.node.node ?? (await finding)?.name ?? input.node.machineName
    const [machine, node, etcd, apiServer] = await Promise.all([
      connections.machines.get(input.node.machineId, attempt.signal),
      finding,
      holdsMember ? etcdView(connections, attempt.signal) : null,
      input.node.type === 'control' && connections.controlPlane !== null
        ? connections.controlPlane.apiServer(name, attempt.signal)
        : null,
    ])
    const kept = node === null ? null : await this.keepCordoned(node)
    const expected: Expected = {
      bootId: input.baseline.expectNewBoot ? input.baseline.bootId : null,
      settings: input.settings,
      needsNode: input.node.type !== 'etcd',
      needsMember: holdsMember,
      needsApiServer: input.node.type === 'control' && connections.controlPlane !== null,
      name,
    }
    const why = whyNotBack(expected, { machine, node: kept, etcd, apiServer })
    if (why.length === 0 && kept !== null) why.push(...(await this.podsNotReady(kept.name)))
    if (why.length > 0) return { why: why.map((one) => `${name}: ${one}`) }
    this.goodSince = goodSince ?? performance.now()
    const left = input.limits.settleSeconds * 1000 - (performance.now() - this.goodSince)
    return left <= 0
      ? { done: kept ?? 'noNode' }
      : { why: [`${name} is back, looking again in ${Math.ceil(left / 1000)} s`], againMs: left }
  }

  /** Begins only when there is a pod to wait for: most nodes come back with all of them. */
  podsWatch(wake: () => void): Watching {
    this.wake = wake
    return { close: () => this.end() }
  }

  /** The first look may have opened it, and the wait ended before it began its watches. */
  end(): void {
    this.pods?.close()
    this.pods = null
  }

  private async podsNotReady(name: string): Promise<string[]> {
    const { input, connections, attempt } = this
    if (!input.limits.waitsForCriticalPods) return []
    const pods = await (this.pods?.current(attempt.signal) ??
      connections.cluster.podsOn(name, attempt.signal))
    const why = criticalPodsNotReady(pods)
    if (why.length > 0) this.pods ??= connections.cluster.keepPodsOn(name, () => this.wake())
    return why
  }

  private async findNode(): Promise<NodeRecord | null> {
    const { input, connections, attempt } = this
    if (input.node.type === 'etcd') return null
    if (input.node.node !== null) return connections.cluster.node(input.node.node, attempt.signal)
    const nodes = await connections.cluster.recentNodes(attempt.signal)
    const found = nodes.find((node) =>
      input.node.providerId === null || node.providerId === null
        ? node.name === input.node.machineName
        : node.providerId.toLowerCase() === input.node.providerId.toLowerCase(),
    )
    // Recent is enough to know its name by, and not to give it back.
    return found === undefined ? null : connections.cluster.node(found.name, attempt.signal)
  }

  /** A Node that lost its cordon, or a new object under the old name, opens for pods before it is verified (B11). */
  private async keepCordoned(node: NodeRecord): Promise<NodeRecord> {
    const { input, connections, attempt } = this
    if (isAnotherMachine(node, input.node)) {
      throw failure(
        'VerifyFailed',
        `node ${node.name} is a different machine now (${node.providerId}); nothing was done to it`,
      )
    }
    const replaced = input.baseline.uid !== null && node.uid !== input.baseline.uid
    if (replaced) this.warn(`node ${node.name} was replaced by a new object while its machine was off`)
    if (input.baseline.cordonedByOthers && !replaced) return node
    const mine = node.marks.attempt?.token === input.token
    const unmarkedAfterReset = !replaced && !isMarked(node.marks)
    if ((mine && node.unschedulable) || input.node.how === 'return' || unmarkedAfterReset) return node
    const changed = await changeNode(connections.cluster, attempt, node.name, (now) => {
      if (now.unschedulable && now.marks.attempt?.token === input.token) return null
      if (now.marks.attempt !== null && now.marks.attempt.token !== input.token) return null
      return { unschedulable: true, ...(now.marks.attempt === null ? this.marksAgain(now) : {}) }
    })
    return changed ?? node
  }

  private marksAgain(node: NodeRecord): NodeChange {
    const { input, world, attempt } = this
    const bootId = input.baseline.bootId
    const replaced = node.uid !== input.baseline.uid
    const { added, values } = additions(node, replaced ? null : (input.baseline.added ?? null))
    const marks = {
      [MARK_KEYS.attempt]: attemptAnnotation({
        rollout: holderOf(world, input.rollout),
        run: attempt.runId,
        token: input.token,
        at: new Date().toISOString(),
        bootId,
        uid: node.uid,
        added,
      }),
      ...(input.baseline.cordonedByOthers ? {} : { [MARK_KEYS.bootId]: bootId ?? 'none' }),
    }
    return { labels: values.labels, annotations: { ...values.annotations, ...marks } }
  }

  /** K3. A node that another rollout has marked meanwhile is not ours to give back. */
  async giveBack(verified: NodeRecord): Promise<void> {
    const { world, input, connections, attempt } = this
    await this.checkRootFs(verified)
    const decide = (now: NodeRecord) => {
      if (now.marks.attempt !== null && now.marks.attempt.token !== input.token) {
        throw failure(
          'NodeChanged',
          `node ${now.name} carries the mark of another rollout; it was not given back`,
        )
      }
      // It may have gone down again since the look that verified it.
      if (now.ready !== 'ready' || now.bootId !== verified.bootId) {
        throw new Error(`node ${now.name} changed while it was given back`)
      }
      return isMarked(now.marks) ? clearMarksChange(now, { uncordon: true }) : null
    }
    const node = await changeNode(connections.cluster, attempt, verified.name, decide, verified)
    if (node === null) throw failure('VerifyFailed', `node ${verified.name} vanished after it was verified`)
    const tell = (reason: string, text: string) =>
      tellNode(world, connections.cluster, input, node, { type: 'Normal', reason, text })
    tell('NoderollVerified', `Back with boot id ${verified.bootId ?? 'unknown'}, as the settings ask`)
    tell('NoderollGivenBack', 'As it was found, nothing of noderoll left on it')
  }

  /** CKS-26: a disk that grew under a file system that did not is a warning, not a failure. */
  private async checkRootFs(node: NodeRecord): Promise<void> {
    const { input, connections } = this
    const grew =
      input.node.wants.rootDiskGiB !== null &&
      (input.node.was.rootDiskGiB ?? 0) < input.node.wants.rootDiskGiB
    const before = input.baseline.ephemeralStorageKiB
    if (!grew || before === null || node.ephemeralStorageKiB === null || node.ephemeralStorageKiB > before)
      return
    const text = `RootFsNotGrown: the disk of ${node.name} grew to ${input.node.wants.rootDiskGiB} GiB, its root file system did not`
    this.warn(text)
    await connections.cluster.nodeEvent(node, 'Warning', 'RootFsNotGrown', text)
  }

  private warn(text: string): void {
    if (!this.warnings.includes(text)) this.warnings.push(text)
  }
}
