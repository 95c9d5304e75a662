import { describe, expect, it } from 'vitest'
import { paceOf } from '../../../src/providers/azure-vm/pace.js'
import { QuietTimes } from '../../../src/providers/azure-vm/quiet-times.js'
import { RateLimit } from '../../../src/providers/azure-vm/rate-limit.js'
import { signal } from '../machines-contract.js'

describe('how fast Azure is asked', () => {
  it('lets a burst through, then so many a second', async () => {
    const limit = new RateLimit(5, 50)
    const started = performance.now()
    const order: number[] = []

    await Promise.all(Array.from({ length: 15 }, (_, at) => limit.turn(signal()).then(() => order.push(at))))

    expect(performance.now() - started).toBeGreaterThan(150)
    expect(order.slice(0, 5)).toEqual([0, 1, 2, 3, 4])
  })

  it('gives up its place when the caller does', async () => {
    const limit = new RateLimit(1, 0.01)
    await limit.turn(signal())
    const reason = new Error('no longer wanted')
    const caller = new AbortController()
    const turn = limit.turn(caller.signal)
    caller.abort(reason)

    await expect(turn).rejects.toBe(reason)
  })

  it('is one pace for all clusters of a subscription', () => {
    expect(paceOf('https://a', 'S-1', 20)).toBe(paceOf('https://a', 's-1', 20))
    expect(paceOf('https://a', 's-2', 20)).not.toBe(paceOf('https://a', 's-1', 20))
  })

  it('leaves a kind of call alone for as long as Azure says, two minutes at the most', () => {
    const quiet = new QuietTimes()
    quiet.begin('start', 1200)

    expect(() => quiet.mustBeOver('start', 'start w-1')).toThrow(
      expect.objectContaining({ kind: 'throttled', retryAfterSeconds: 120 }),
    )
    expect(() => quiet.mustBeOver('getVm', 'VM w-1')).not.toThrow()
  })

  it('B26 is not quiet for less because a later answer asks for less', () => {
    const quiet = new QuietTimes()
    quiet.begin('start', 60)
    quiet.begin('start', 1)

    expect(() => quiet.mustBeOver('start', 'start w-1')).toThrow(
      expect.objectContaining({ kind: 'throttled', retryAfterSeconds: 60 }),
    )
  })
})
