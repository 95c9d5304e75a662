import { ActivityCancellationType, type ActivityOptions, proxyActivities } from '@temporalio/workflow'
import type { RolloutActivities } from '../api/activities.js'
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

/** Runs one step within its budget. Throws `ActivityFailure` with the step's failure as cause. */
export function step<K extends keyof RolloutActivities>(
  name: K,
  options: StepOptions,
  input: Input<K>,
): Promise<Output<K>> {
  const budget = `${Math.max(1, Math.ceil(options.budgetSeconds))} seconds`
  const activity = activities[name] as unknown as Callable<Input<K>, Output<K>>
  return activity.executeWithOptions(
    { ...OPTIONS, scheduleToCloseTimeout: budget, summary: options.summary },
    [input],
  )
}

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
