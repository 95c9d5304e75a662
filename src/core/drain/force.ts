import type { DrainPolicy } from '../spec.js'
import type { PodStanding } from './standing.js'

/** The last pod that was deleted past its budget, kept in the cluster's record so that every worker sees it. */
export interface Forced {
  readonly at: string
  readonly pod: string
  readonly node: string
}

/**
 * The one pod that may be deleted past its budget now, the oldest first; else null. Only a pod that a budget holds: what
 * terminates has been asked to go already, and a finalizer is somebody's promise. A pod or a time that is not known is
 * never old enough.
 */
export function podToForce(
  left: readonly PodStanding[],
  drainSeconds: number,
  { drainOlderThanSeconds, podOlderThanSeconds }: DrainPolicy['force'],
): PodStanding | null {
  if (drainSeconds < drainOlderThanSeconds) return null
  const old = left.filter(
    ({ pod, standing }) => standing.kind === 'held' && (pod.ageSeconds ?? -1) >= podOlderThanSeconds,
  )
  return old.sort((a, b) => (b.pod.ageSeconds ?? 0) - (a.pod.ageSeconds ?? 0))[0] ?? null
}

/** Seconds until the cluster may see the next forced deletion; 0: now. A time that cannot be read is taken for now. */
export function secondsToNextForce(
  last: Forced | null,
  nowMs: number,
  { lastForcedOlderThanSeconds }: DrainPolicy['force'],
): number {
  if (last === null) return 0
  const at = Date.parse(last.at)
  const ago = Number.isNaN(at) ? 0 : (nowMs - at) / 1000
  return Math.max(0, lastForcedOlderThanSeconds - ago)
}
