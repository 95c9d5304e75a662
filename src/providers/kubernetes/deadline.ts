import { setMaxListeners } from 'node:events'

/** Longest time for one call to the API, tries on other API servers included: a hung server must not hang a rollout. */
export const REQUEST_MS = 10_000

/** How long an API server may keep silent, or a connection take, before another one is asked instead. */
export const PATIENCE_MS = 3_000

/** A limit of ours has passed. Not the caller's abort, which keeps its own reason. */
export class DeadlineError extends Error {
  constructor(limitMs: number) {
    super(`no answer within ${limitMs / 1000} s`)
    this.name = 'DeadlineError'
  }
}

/** Runs `act` with a signal that aborts when `outer` does or when the time is up; `act` has to end then. */
export async function withDeadline<T>(
  limitMs: number,
  outer: AbortSignal,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer.throwIfAborted()
  const controller = new AbortController()
  const letGo = follow(outer, controller)
  const timer = setTimeout(() => controller.abort(new DeadlineError(limitMs)), limitMs)
  try {
    return await act(controller.signal)
  } finally {
    clearTimeout(timer)
    letGo()
  }
}

/**
 * Aborts `controller` when `signal` aborts, until the function it returns is called. (`AbortSignal.any` over a signal
 * that lives as long as a drain would keep the signals of all its requests alive on Node 20.)
 */
export function follow(signal: AbortSignal, controller: AbortController): () => void {
  const abort = () => controller.abort(signal.reason)
  if (signal.aborted) abort()
  // A drain has dozens of requests under way; each listens for its end, and that is no leak.
  setMaxListeners(0, signal)
  signal.addEventListener('abort', abort, { once: true })
  return () => signal.removeEventListener('abort', abort)
}

/** The promise's outcome, or the signal's reason as soon as it aborts. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    void promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
