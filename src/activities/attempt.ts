import { activityInfo, Context } from '@temporalio/activity'
import { HEARTBEAT_HELD_SECONDS, HEARTBEAT_SECONDS } from '../api/timing.js'
import { follow } from '../ports/deadline.js'

/** A live attempt of an activity: its cancellation, its heartbeat, and whether it may still send anything. */
export interface Attempt {
  readonly signal: AbortSignal
  readonly runId: string
  readonly attempt: number
  /** Heartbeat details of the attempt before, if any. */
  readonly before: unknown
  /** Seconds the workflow gives this activity, over all attempts. */
  readonly givenSeconds: number
  /** Milliseconds since the server scheduled this activity (first attempt). Server and worker clocks: NTP is assumed. */
  sinceScheduledMs(): number
  /** What the heartbeats carry from now on; one goes out at once. */
  note(details: unknown): void
  /** Throws when this attempt may send nothing more: cancelled, or held up for longer than its heartbeat timeout. */
  mayStillAct(): void
  /** Tells the workflow what is waited for, not more often than once in half a minute and only when it changed. */
  waitsFor(why: readonly string[]): Promise<void>
}

/** Seconds of waiting before anybody is told, so that short waits cost no history. */
const QUIET_SECONDS = 5
const TELL_AGAIN_SECONDS = 30

/** Often, so that only a real stall makes a gap between two; what goes to Temporal is less (`HEARTBEAT_HELD_SECONDS`). */
const BEAT_MS = 1_000

/** A gap after which the server may have given the attempt up: its last word from us may be as old as one held back. */
const LONGEST_GAP_MS = (HEARTBEAT_SECONDS - HEARTBEAT_HELD_SECONDS) * 1000

/**
 * Runs a step with a heartbeat from a timer, so that a request that hangs never stops it.
 *
 * An attempt that was frozen (SIGSTOP, a stalled machine) for so long that no heartbeat may have come in time has been given
 * up by the server: another one may be at work. It must not finish its sentence when it wakes up, so the gap is measured at every
 * beat on the monotonic clock, and remembered.
 */
export async function attempting<T>(subject: string, step: (attempt: Attempt) => Promise<T>): Promise<T> {
  const context = Context.current()
  const info = activityInfo()
  const ended = new AbortController()
  let details: unknown = info.heartbeatDetails
  let lastBeat = performance.now()
  const beat = () => {
    const now = performance.now()
    if (now - lastBeat > LONGEST_GAP_MS)
      ended.abort(new Error('this attempt was held up past its heartbeat timeout'))
    lastBeat = now
    context.heartbeat(details)
  }
  const timer = setInterval(beat, BEAT_MS)
  const letGo = follow(context.cancellationSignal, ended)
  const { signal } = ended
  const startedAt = performance.now()
  let toldAt = Number.NEGATIVE_INFINITY
  let told = ''
  const attempt: Attempt = {
    signal,
    runId: info.workflowExecution?.runId ?? '',
    attempt: info.attempt,
    before: info.heartbeatDetails,
    givenSeconds: info.scheduleToCloseTimeoutMs / 1000,
    sinceScheduledMs: () => Date.now() - info.scheduledTimestampMs,
    note: (now) => {
      details = now
      beat()
    },
    mayStillAct: () => {
      beat()
      signal.throwIfAborted()
    },
    waitsFor: async (why) => {
      details = { ...(typeof details === 'object' ? details : {}), waitsFor: why }
      const text = why.join('\n')
      const now = performance.now()
      if (text === told || now - startedAt < QUIET_SECONDS * 1000) return
      if (now - toldAt < TELL_AGAIN_SECONDS * 1000) return
      told = text
      toldAt = now
      await tellWorkflow(subject, why)
    },
  }
  beat()
  try {
    return await step(attempt)
  } finally {
    clearInterval(timer)
    letGo()
  }
}

/** Reasons that travel, in a signal each time they change. */
const MOST_REASONS = 10

function mostOf(why: readonly string[]): readonly string[] {
  const left = why.length - MOST_REASONS
  return left <= 0 ? why : [...why.slice(0, MOST_REASONS), `and ${left} more`]
}

/** A wait that nobody hears of is still a wait: failing to tell must not fail the step. */
async function tellWorkflow(subject: string, why: readonly string[]): Promise<void> {
  const { log } = Context.current()
  const execution = activityInfo().workflowExecution
  if (execution === undefined) return
  try {
    const handle = Context.current().client.workflow.getHandle(execution.workflowId, execution.runId)
    await handle.signal('waiting', { subject, why: mostOf(why) })
  } catch (error) {
    log.debug('Could not tell the workflow what is waited for', { error: String(error) })
  }
}
