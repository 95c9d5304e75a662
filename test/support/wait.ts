import { setTimeout as sleep } from 'node:timers/promises'

export interface WaitOptions {
  /** What is waited for, for the error message. */
  for: string
  timeoutMs?: number
  everyMs?: number
}

/** Asks again and again until the answer is neither undefined, null nor false. An error counts as "not yet". */
export async function waitUntil<T>(
  ask: () => T | Promise<T>,
  options: WaitOptions,
): Promise<Exclude<T, undefined | null | false>> {
  const beganAt = performance.now()
  const deadline = beganAt + (options.timeoutMs ?? 30_000)
  let problem: unknown
  for (;;) {
    try {
      problem = undefined
      const answer = await ask()
      if (answer !== undefined && answer !== null && answer !== false) {
        return answer as Exclude<T, undefined | null | false>
      }
    } catch (error) {
      problem = error
    }
    if (performance.now() > deadline) {
      throw new Error(`gave up waiting for ${options.for}`, { cause: problem })
    }
    await sleep(options.everyMs ?? pauseAfter(performance.now() - beganAt))
  }
}

/** A twentieth of the wait so far: each look is a request, and hundreds a second are what all the others wait for. */
function pauseAfter(waitedMs: number): number {
  return Math.min(200, Math.max(20, waitedMs / 20))
}
