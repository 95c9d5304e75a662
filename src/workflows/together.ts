import { CancellationScope, condition, isCancellation } from '@temporalio/workflow'

/** Runs tasks side by side; the first failure cancels the others, and is thrown when all have really ended. */
export async function together<T>(tasks: readonly (() => Promise<T>)[]): Promise<T[]> {
  const scope = new CancellationScope()
  return scope.run(async () => {
    const failures: unknown[] = []
    const results = await Promise.all(
      tasks.map(async (task) => {
        try {
          return [await task()]
        } catch (error) {
          failures.push(error)
          scope.cancel()
          return []
        }
      }),
    )
    if (failures.length > 0) throw failures[0]
    return results.flat()
  })
}

/** Why a piece of work was broken off. */
export type Interruption = 'deadline' | 'cancelNow' | 'cancelled'

export type Interruptible<T> =
  | { readonly kind: 'ended'; readonly value: T }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'interrupted'; readonly why: Interruption }

/**
 * Runs work until it ends, until `cancelNow` becomes true, until the deadline, or until the workflow is cancelled; then
 * cancels it and waits until it has really stopped. Deadline and cancel stay different words: `withTimeout` would make
 * both a cancellation.
 */
export async function interruptible<T>(
  work: () => Promise<T>,
  limit: { readonly milliseconds: number; readonly summary: string; cancelNow(): boolean },
): Promise<Interruptible<T>> {
  const scope = new CancellationScope()
  let ended: Interruptible<T> | null = null
  const running = scope.run(work).then(
    (value) => {
      ended = { kind: 'ended', value }
    },
    (error: unknown) => {
      ended = { kind: 'failed', error }
    },
  )
  let why: Interruption | null = null
  try {
    const inTime = await condition(
      () => ended !== null || limit.cancelNow(),
      Math.max(1, limit.milliseconds),
      {
        summary: limit.summary,
      },
    )
    if (!inTime) why = 'deadline'
    else if (ended === null) why = 'cancelNow'
  } catch (error) {
    if (!isCancellation(error)) throw error
    why = 'cancelled'
  }
  if (why !== null) scope.cancel()
  await CancellationScope.nonCancellable(() => running)
  const end = ended as Interruptible<T> | null
  if (end === null) throw new Error('unreachable: the work has ended')
  if (why === null) return end
  // A failure of its own beats the cancel (CKS-20). Work that ended well in that very moment is not gone on with.
  return end.kind === 'failed' && !isCancellation(end.error) ? end : { kind: 'interrupted', why }
}

/** Runs work until it ends, or until `stop` becomes true: then cancels it, and throws when it has really ended. No limit. */
export async function breakable<T>(work: () => Promise<T>, stop: () => boolean): Promise<T> {
  const scope = new CancellationScope()
  let ended = false
  const running = scope.run(work).finally(() => {
    ended = true
  })
  // Looked at below: until then nobody else does.
  running.catch(() => undefined)
  await condition(() => ended || stop())
  if (!ended) scope.cancel()
  return running
}
