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

/** What is to be done when a signal aborts, and the one listener that does it. */
interface Followers {
  readonly aborts: Set<() => void>
  listener(): void
}

const followersOf = new WeakMap<AbortSignal, Followers>()

/**
 * Aborts `controller` when `signal` aborts, until the function it returns is called. (`AbortSignal.any` over a signal
 * that lives as long as a drain would keep the signals of all its requests alive on Node 20.)
 *
 * However many follow a signal, it has one listener: a drain may have 200 requests under way, and Node warns of a leak
 * from the eleventh listener on.
 */
export function follow(signal: AbortSignal, controller: AbortController): () => void {
  const abort = () => controller.abort(signal.reason)
  if (signal.aborted) abort()
  const followers = followersOf.get(signal) ?? listenTo(signal)
  followers.aborts.add(abort)
  return () => {
    followers.aborts.delete(abort)
    if (followers.aborts.size > 0) return
    signal.removeEventListener('abort', followers.listener)
    followersOf.delete(signal)
  }
}

function listenTo(signal: AbortSignal): Followers {
  const aborts = new Set<() => void>()
  const listener = () => {
    for (const abort of aborts) abort()
  }
  const followers = { aborts, listener }
  signal.addEventListener('abort', listener, { once: true })
  followersOf.set(signal, followers)
  return followers
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
