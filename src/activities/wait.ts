import type { Watching } from '../ports/cluster.js'
import { portErrorKind } from '../ports/errors.js'
import type { Attempt } from './attempt.js'

/**
 * `atOnce`: the world has just been moved; look again without a pause, and wait for the answer as if from now on.
 * `againMs`: all is well and will be looked at once more after so long; no limit ends that.
 */
export type Seen<T> =
  | { readonly done: T }
  | { readonly why: readonly string[]; readonly atOnce?: true; readonly againMs?: number }

export interface Waiting<T> {
  /** Looks at the world: the result, or why it is not there yet. */
  look(): Promise<Seen<T>>
  /**
   * Starts watches that call `wake` when something changed, and once when they have begun; closed at the end. Called after
   * the first look: most find what they look for, and a watch costs a connection.
   */
  watch?(wake: () => void): readonly Watching[]
  /** The look sees through the watches: they are begun before the first one. */
  readonly watchesFirst?: boolean
  /** Part of what is looked at cannot be watched (etcd, machines): look as often as without a watch. */
  readonly partlyWatched?: boolean
  /**
   * Shortest pause between a look and the next one that a watch asks for, in seconds, and never shorter than the look took:
   * one that reads a whole cloud must not follow every event of any node. The first event after a quiet time is looked at
   * at once.
   */
  readonly leastSeconds?: number
  /** Longest time between two looks, in seconds: the net under a dead watch. */
  readonly slowestSeconds: number
  /**
   * Seconds from when the workflow asked, over all attempts, and what is thrown then. With a limit, a world that does not
   * answer is one more thing waited for; without one (null) its error ends the attempt.
   */
  readonly limit: { readonly seconds: number; fail(why: readonly string[]): Error } | null
}

/** Until the pauses have grown to this, in milliseconds, each is as long as the wait so far. */
const DOUBLING_UNTIL_MS = 25

/**
 * Looks, and looks again when a watch says so, or after a pause that grows with the wait (a twentieth of it): an answer that
 * comes at once costs nothing, and one that takes minutes is noticed within a few per cent of them.
 */
export async function waitFor<T>(attempt: Attempt, waiting: Waiting<T>): Promise<T> {
  let beganAt = performance.now()
  let wake: () => void = () => undefined
  let changed = false
  let watches: readonly Watching[] | null = null
  const watched = () =>
    waiting.watch?.(() => {
      changed = true
      wake()
    }) ?? []
  try {
    if (waiting.watchesFirst) watches = watched()
    for (;;) {
      attempt.signal.throwIfAborted()
      changed = false
      const lookedAt = performance.now()
      const seen = waiting.limit === null ? await waiting.look() : await lookAnyway(waiting)
      if ('done' in seen) return seen.done
      const left = waiting.limit === null ? null : waiting.limit.seconds * 1000 - attempt.sinceScheduledMs()
      const isWell = seen.againMs !== undefined
      if (waiting.limit !== null && left !== null && left < 0 && !isWell) throw waiting.limit.fail(seen.why)
      if (seen.atOnce) {
        beganAt = performance.now()
        continue
      }
      watches ??= watched()
      const endedAt = performance.now()
      const rest = waiting.leastSeconds === undefined ? 0 : endedAt - lookedAt
      await attempt.waitsFor(seen.why)
      const waited = performance.now() - beganAt
      const slowest = waiting.slowestSeconds * 1000
      const isWatched = watches.length > 0 && waiting.partlyWatched !== true
      const growing = isWatched ? slowest : Math.max(waited / 20, Math.min(waited, DOUBLING_UNTIL_MS), rest)
      const until = (seen.againMs ?? Math.max(left ?? slowest, 0)) + 1
      if (!changed)
        await pause(Math.min(slowest, growing, until), attempt.signal, (now) => {
          wake = now
        })
      if (!changed) continue
      const restsUntil = endedAt + Math.min(until, Math.max((waiting.leastSeconds ?? 0) * 1000, rest))
      await pause(restsUntil - performance.now(), attempt.signal, () => undefined)
    }
  } finally {
    for (const watch of watches ?? []) watch.close()
  }
}

/** Unknown is not no, and not an end either: it is waited for like anything else. */
async function lookAnyway<T>(waiting: Waiting<T>): Promise<Seen<T>> {
  try {
    return await waiting.look()
  } catch (error) {
    const kind = portErrorKind(error)
    if (kind !== 'unreachable' && kind !== 'throttled' && kind !== 'conflict') throw error
    return { why: [error instanceof Error ? error.message : String(error)] }
  }
}

/** Ends after the time, when woken, or when the signal aborts. */
function pause(
  milliseconds: number,
  signal: AbortSignal,
  giveWake: (wake: () => void) => void,
): Promise<void> {
  if (milliseconds <= 0) return Promise.resolve()
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    signal.addEventListener('abort', end)
    giveWake(end)
  })
}
