import type { Context } from '@temporalio/activity'
import type { ActivityInterceptorsFactory } from '@temporalio/worker'

/** Where a worker kills itself: before, in or after the first activity of a type that it runs. */
export interface KillPoint {
  readonly activity: string
  readonly phase: 'before' | 'in' | 'after'
  /** For `in`: so long after it began, in milliseconds. */
  readonly afterMs: number
}

export const PHASES: readonly KillPoint['phase'][] = ['before', 'in', 'after']

/** `kill -9` of the own process: nothing is flushed, nothing is reported. */
function dieNow(): never {
  process.kill(process.pid, 'SIGKILL')
  throw new Error('still alive')
}

export function killAt(point: KillPoint): ActivityInterceptorsFactory {
  return (context: Context) => ({
    inbound: {
      async execute(input, next) {
        if (context.info.activityType !== point.activity) return next(input)
        if (point.phase === 'before') dieNow()
        if (point.phase === 'in') setTimeout(dieNow, point.afterMs)
        const result = await next(input)
        if (point.phase === 'after' || point.phase === 'in') dieNow()
        return result
      },
    },
  })
}
