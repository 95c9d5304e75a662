import { describe, expect, it } from 'vitest'
import { Remembered } from '../../../src/providers/azure-vm/remembered.js'
import { signal } from '../machines-contract.js'

describe('what changes rarely', () => {
  const failing = async () => {
    throw new Error('throttled')
  }

  it('B26 is the old answer when a fresh one cannot be had, and is not asked for again at every look', async () => {
    const remembered = new Remembered<number>(0)
    let asked = 0
    const counting = () => {
      asked += 1
      return failing()
    }

    await expect(remembered.get('a', signal(), failing)).rejects.toThrow('throttled')
    expect(await remembered.get('a', signal(), async () => 1)).toBe(1)
    expect(await remembered.get('a', signal(), counting)).toBe(1)
    expect(await remembered.get('a', signal(), counting)).toBe(1)
    expect(asked).toBe(1)
  })

  it('B26 is asked for once by all who wait, and no abort of one fails another', async () => {
    const remembered = new Remembered<number>(60)
    const [first, second] = [new AbortController(), new AbortController()]
    let answer: (value: number) => void = () => undefined
    let shared: AbortSignal | undefined
    const read = (given: AbortSignal) => {
      shared = given
      return new Promise<number>((resolve) => {
        answer = resolve
      })
    }
    const reason = new Error('this step was cancelled')

    const one = remembered.get('a', first.signal, read)
    const other = remembered.get('a', second.signal, () => Promise.reject(new Error('asked twice')))
    first.abort(reason)

    await expect(one).rejects.toBe(reason)
    expect(shared?.aborted).toBe(false)
    answer(7)
    expect(await other).toBe(7)
  })

  it('B26 ends its request when the last one has left, and asks anew for the next', async () => {
    const remembered = new Remembered<number>(60)
    const caller = new AbortController()
    let shared: AbortSignal | undefined
    const hanging = (given: AbortSignal) => {
      shared = given
      return new Promise<number>((_, reject) => given.addEventListener('abort', () => reject(given.reason)))
    }

    const asked = remembered.get('a', caller.signal, hanging)
    caller.abort(new Error('no longer wanted'))

    await expect(asked).rejects.toThrow('no longer wanted')
    expect(shared?.aborted).toBe(true)
    expect(await remembered.get('a', signal(), async () => 3)).toBe(3)
  })
})
