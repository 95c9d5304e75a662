/** A limit of ours has passed. Not the caller's abort, which keeps its own reason. */
export class DeadlineError extends Error {
  constructor(limitMs: number) {
    super(`no answer within ${limitMs / 1000} s`)
    this.name = 'DeadlineError'
  }
}

/**
 * Runs `act` with a signal that aborts when `outer` does or when the time is up; `act` has to end then.
 *
 * Not with `AbortSignal.any` over an `AbortSignal.timeout`: on Node 20 a garbage collection can take the timeout away before
 * it fires (nodejs/node#57736), and a rollout then waits for a machine that hangs for as long as it hangs.
 */
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

/** The same for an `act` that may take no notice of its signal: throws `DeadlineError`, or `outer`'s reason, all the same. */
export function answerWithin<T>(
  limitMs: number,
  outer: AbortSignal,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return withDeadline(limitMs, outer, (within) => unlessAborted(act(within), within))
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
