import { MockActivityEnvironment } from '@temporalio/testing'
import { describe, expect, it } from 'vitest'
import { attempting } from '../../src/activities/attempt.js'
import { type Seen, type Waiting, waitFor } from '../../src/activities/wait.js'

/** Runs a wait as a step does. */
async function wait<T>(waiting: Pick<Waiting<T>, 'look' | 'watch'>): Promise<T> {
  const all = { slowestSeconds: 60, limit: null, ...waiting }
  return (await new MockActivityEnvironment().run(() =>
    attempting('w-1', (attempt) => waitFor(attempt, all)),
  )) as T
}

describe('waiting', () => {
  it('begins no watch when the first look finds what it looks for', async () => {
    let watches = 0

    const seen = await wait({
      look: async () => ({ done: 'there' }),
      watch: () => {
        watches++
        return []
      },
    })

    expect(seen).toBe('there')
    expect(watches).toBe(0)
  })

  it('sees what changed between its first look and the beginning of its watch', async () => {
    let world = 'before'
    let closed = 0

    const seen = await wait({
      look: async (): Promise<Seen<string>> => (world === 'after' ? { done: world } : { why: [world] }),
      watch: (wake) => {
        world = 'after'
        // As a watch does when it has its place in the stream of events.
        setImmediate(wake)
        return [{ close: () => closed++ }]
      },
    })

    expect(seen).toBe('after')
    expect(closed).toBe(1)
  })

  it('looks again within the time it has waited, and not all the time', async () => {
    const looks: number[] = []
    const beganAt = performance.now()

    const seen = await wait({
      look: async (): Promise<Seen<number>> => {
        const now = performance.now() - beganAt
        looks.push(now)
        return now < 1_000 ? { why: ['not yet'] } : { done: now }
      },
    })

    expect(seen).toBeLessThan(2_000)
    expect(looks.length).toBeLessThan(70)
  })

  it('waits for an act as if from now on, however long the step took until then', async () => {
    let sentAt = Number.POSITIVE_INFINITY
    const looks: number[] = []
    const beganAt = performance.now()

    await wait({
      look: async (): Promise<Seen<true>> => {
        const now = performance.now()
        if (sentAt === Number.POSITIVE_INFINITY) {
          if (now - beganAt < 1_000) return { why: ['not yet'] }
          sentAt = now
          return { why: ['sent'], atOnce: true }
        }
        looks.push(now)
        return looks.length < 6 ? { why: ['under way'] } : { done: true }
      },
    })

    const pauses = looks.slice(1).map((at, index) => at - (looks[index] ?? 0))
    // A twentieth of the whole step so far would be 50 ms, each time.
    expect(Math.min(...pauses)).toBeLessThan(25)
  })
})
