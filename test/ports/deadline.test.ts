import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { answerWithin, DeadlineError } from '../../src/ports/deadline.js'
import { whileCollecting } from '../support/garbage.js'

/** As an SDK that waits for a token, whatever happens. */
const deaf = () => new Promise<never>(() => undefined)

describe('an answer within a limit', () => {
  it('is given up in time when who is asked takes no notice, and nothing of it is left', async () => {
    const caller = new AbortController()

    const asked = whileCollecting(answerWithin(500, caller.signal, deaf))

    await expect(asked).rejects.toThrow(new DeadlineError(500))
    expect(getEventListeners(caller.signal, 'abort')).toEqual([])
  })

  it('ends with the caller’s reason when the caller gives up first', async () => {
    const caller = new AbortController()
    const reason = new Error('no longer wanted')

    const asked = answerWithin(60_000, caller.signal, deaf)
    caller.abort(reason)

    await expect(asked).rejects.toBe(reason)
  })

  it('tells who is asked that nobody waits any more', async () => {
    const told = new Promise((resolve) => {
      const asked = answerWithin(10, new AbortController().signal, (within) => {
        within.addEventListener('abort', () => resolve(within.reason))
        return deaf()
      })
      asked.catch(() => undefined)
    })

    expect(await told).toEqual(new DeadlineError(10))
  })
})
