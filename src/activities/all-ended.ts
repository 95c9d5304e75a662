/**
 * Like `Promise.all`, but throws the first failure only when all the others have ended, too: what still writes while its
 * step has failed writes past the step that undoes it.
 */
export async function allEnded<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const ends = await Promise.allSettled(work)
  return ends.map((end) => {
    if (end.status === 'rejected') throw end.reason
    return end.value
  })
}
