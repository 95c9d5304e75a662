import { EventEmitter } from 'node:events'
import { MockActivityEnvironment } from '@temporalio/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { attempting } from '../../src/activities/attempt.js'
import { type Seen, type Waiting, waitFor } from '../../src/activities/wait.js'

/** Runs a wait as a step does. */
async function wait<T>(waiting: Pick<Waiting<T>, 'look' | 'watch' | 'leastSeconds'>): Promise<T> {
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

  it('CKS-12 a look that costs much does not follow every event, and the first one after a quiet time at once', async () => {
    const events = new EventEmitter()
    const looks: number[] = []
    let toldAt = Number.POSITIVE_INFINITY
    const ofOthers = setInterval(() => events.emit('node'), 20)
    onTestFinished(() => clearInterval(ofOthers))

    await wait({
      leastSeconds: 0.5,
      look: async (): Promise<Seen<true>> => {
        const now = performance.now()
        looks.push(now)
        if (now > toldAt) return { done: true }
        if (looks.length === 5) {
          clearInterval(ofOthers)
          setTimeout(() => {
            toldAt = performance.now()
            events.emit('node')
          }, 700)
        }
        return { why: ['not yet'] }
      },
      watch: (wake) => {
        events.on('node', wake)
        return [{ close: () => events.off('node', wake) }]
      },
    })

    const pauses = looks.slice(1, 5).map((at, index) => at - (looks[index] ?? 0))
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(490)
    expect(looks.length).toBe(6)
    expect((looks.at(-1) ?? 0) - toldAt).toBeLessThan(200)
  })

  it('CKS-12 a look that takes long leaves as long a pause, whoever wakes it', async () => {
    const events = new EventEmitter()
    const ofOthers = setInterval(() => events.emit('node'), 20)
    onTestFinished(() => clearInterval(ofOthers))
    const pauses: number[] = []
    let endedAt = Number.NEGATIVE_INFINITY

    await wait({
      leastSeconds: 0.1,
      look: async (): Promise<Seen<true>> => {
        pauses.push(performance.now() - endedAt)
        await new Promise((resolve) => setTimeout(resolve, 400))
        endedAt = performance.now()
        return pauses.length < 4 ? { why: ['not yet'] } : { done: true }
      },
      watch: (wake) => {
        events.on('node', wake)
        return [{ close: () => events.off('node', wake) }]
      },
    })

    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(390)
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
