import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/common'
import { ActivityCancellationType, type ActivityOptions, proxyActivities } from '@temporalio/workflow'
import type { RolloutActivities } from '../api/activities.js'
import { rootOf, saidAt } from '../api/failures.js'
import { HEARTBEAT_SECONDS } from '../api/timing.js'

/**
 * Every step waits for its activity to have really stopped when it is cancelled: with Temporal's default a node would be
 * uncordoned while the drain still evicts.
 */
const OPTIONS = {
  heartbeatTimeout: `${HEARTBEAT_SECONDS} seconds`,
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '15 seconds' },
} as const satisfies ActivityOptions

const activities = proxyActivities<RolloutActivities>({ ...OPTIONS, scheduleToCloseTimeout: '10 minutes' })

export interface StepOptions {
  /** One line for Temporal's timeline: which node, in what state. */
  readonly summary: string
  /** Budget over all attempts. */
  readonly budgetSeconds: number
}

type Input<K extends keyof RolloutActivities> = Parameters<RolloutActivities[K]>[0]
type Output<K extends keyof RolloutActivities> = Awaited<ReturnType<RolloutActivities[K]>>

/** A step that never ends because its worker dies of it every time is given up after so many budgets. */
const MOST_OUTAGES = 500

/**
 * Runs one step within its budget. Throws `ActivityFailure` with the step's failure as cause.
 *
 * A step that a worker works on ends by itself, with a sentence. One that Temporal had to time out had no worker: that
 * time is not the step's, and it is asked for again, so that a rollout goes on where it was after hours without one (CKS-24).
 * What of its input counts from now is given as a function, and said anew each time.
 */
export async function step<K extends keyof RolloutActivities>(
  name: K,
  options: StepOptions,
  input: Input<K> | (() => Input<K>),
): Promise<Output<K>> {
  const budget = `${Math.max(1, Math.ceil(options.budgetSeconds))} seconds`
  const activity = activities[name] as unknown as Callable<Input<K>, Output<K>>
  const withOptions = { ...OPTIONS, scheduleToCloseTimeout: budget, summary: options.summary }
  for (let outages = 0; ; outages++) {
    try {
      return await activity.executeWithOptions(withOptions, [typeof input === 'function' ? input() : input])
    } catch (error) {
      if (!hadNoWorker(error) || outages === MOST_OUTAGES) throw error
    }
  }
}

/**
 * Timed out, and no attempt of it had a say in the end: then none was alive. One that met a moment's trouble, and then lost
 * its worker for hours, has said something long ago.
 */
function hadNoWorker(error: unknown): boolean {
  if (!(error instanceof ActivityFailure) || !(error.cause instanceof TimeoutFailure)) return false
  const last = rootOf(error)
  if (!(last instanceof ApplicationFailure)) return true
  const at = saidAt(last)
  return at !== null && Date.now() - at > LONGEST_SILENCE_MS
}

/** The longest pause between two attempts (LONGEST_PAUSE_SECONDS of a port's failure), and half a minute to try. */
const LONGEST_SILENCE_MS = 150_000

interface Callable<In, Out> {
  executeWithOptions(
    options: Omit<ActivityOptions, 'scheduleToCloseTimeout'> & { scheduleToCloseTimeout: string },
    args: [In],
  ): Promise<Out>
}

/** Budget of a step that reads or writes a few objects, in seconds: an API server may be away that long. */
export const SHORT_SECONDS = 300

/** Added to the budget of a step that watches its own limit, so that it is the step that says what it waited for. */
export const SLACK_SECONDS = 120
