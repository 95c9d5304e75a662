import type { Client } from '@temporalio/client'
import type { Released } from '../../src/api/activities.js'
import { actingAnnotation, attemptAnnotation, failureAnnotation, MARK_KEYS } from '../../src/core/marks.js'
import { untilEvent } from './batch-nodes.js'
import { type Node, RolloutBed, type RolloutEnd } from './rollout-bed.js'
import { skippingClient, writesSince } from './story-world.js'

/** A rollout bed on which releaseCluster runs. */
export class Releases {
  readonly bed: RolloutBed
  /** Starts workflows for which the wait after a takeover costs nothing. */
  readonly skipping: Client

  private constructor(bed: RolloutBed, skipping: Client) {
    this.bed = bed
    this.skipping = skipping
  }

  static async open(): Promise<Releases> {
    const bed = await RolloutBed.open()
    return new Releases(bed, await skippingClient(bed))
  }

  async close(): Promise<void> {
    await this.skipping.connection.close()
    await this.bed.close()
  }

  /** A cluster whose settings are stored. */
  async storedWorkers(workers: number): Promise<void> {
    await this.bed.startCluster({ workers })
    await this.bed.startWorker()
    await this.bed.roll({ rollout: false, pools: { worker: {} } })
  }

  async endOfRelease(takeOver?: string): Promise<RolloutEnd> {
    const request = { ...this.bed.target(), ...(takeOver === undefined ? {} : { takeOver }) }
    return this.bed.endOf(await this.bed.startType('releaseCluster', request, undefined, this.skipping))
  }

  async release(takeOver?: string): Promise<Released> {
    const end = await this.endOfRelease(takeOver)
    if (end.kind !== 'completed') throw new Error(`releaseCluster ${end.kind}: ${end.message}`)
    const released = end.result as unknown as Released
    for (const name of released.givenBack) await untilEvent(this.bed, name, 'NoderollGivenBack')
    return released
  }

  /** What a second run writes, after a first one. */
  async releaseAgain(takeOver?: string): Promise<string[]> {
    const start = await this.bed.kube.audit.mark()
    await this.release(takeOver)
    return writesSince(this.bed, start)
  }
}

/** A rollout of which nobody knows. */
export const GONE = 'another-server/prod/cluster-rollout/prod/of-long-ago'

/** The marks of a rollout that ended, as it would have written them. */
export function marksLeft(
  node: Node,
  of: { boot: 'same' | 'old'; ours?: boolean; acting?: boolean; failure?: boolean },
) {
  const at = '2026-01-01T00:00:00.000Z'
  const bootId = of.boot === 'same' ? node.status.nodeInfo.bootID : 'of-before-the-stop'
  const { uid } = node.metadata
  const added = { labels: { team: 'payments', added: null }, annotations: {} }
  return {
    [MARK_KEYS.attempt]: attemptAnnotation({ rollout: GONE, run: 'r', token: 't', at, bootId, uid, added }),
    ...((of.ours ?? true) ? { [MARK_KEYS.bootId]: bootId } : {}),
    ...(of.acting
      ? { [MARK_KEYS.acting]: actingAnnotation({ act: 'stop', at, rollout: GONE, token: 't' }) }
      : {}),
    ...(of.failure
      ? {
          [MARK_KEYS.failure]: failureAnnotation({
            step: 'start',
            reason: 'no power',
            machine: 'stopped',
            at,
            rollout: GONE,
          }),
        }
      : {}),
  }
}
