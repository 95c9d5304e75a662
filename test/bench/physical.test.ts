import { describe, expect, it } from 'vitest'
import { physicalSeconds } from '../../bench/physical.js'
import type { LoggedRequest } from '../../src/simulation/request-log.js'

const DELAYS = { stopMs: 1_000, changeMs: 500, startMs: 1_000, bootMs: 3_000 }

/** `a stop` took effect; `a stop?` did not. */
function acts(...words: string[]): LoggedRequest[] {
  return words.map((text, number) => {
    const [machineId = '', call = ''] = text.split(' ')
    return {
      ...{ number, at: 0, method: 'POST', path: '', machine: machineId, machineId, offering: null },
      ...{ body: null, client: null, status: 202, answer: 'sent', effective: !call.endsWith('?') },
      call: call.replace('?', '') as LoggedRequest['call'],
    }
  })
}

describe('what a rollout cannot go below', () => {
  it.each<[string, number, string[]]>([
    ['nothing was done', 0, []],
    ['one machine, with two seconds of grace', 7, ['a stop', 'a start']],
    ['one that is changed as well', 7.5, ['a stop', 'a setOffering', 'a start']],
    ['two after another', 14, ['a stop', 'a start', 'b stop', 'b start']],
    ['two together: the slower one', 7.5, ['a stop', 'b stop', 'a start', 'b setOffering', 'b start']],
    ['a batch of two and one of one', 14, ['a stop', 'b stop', 'b start', 'a start', 'c stop', 'c start']],
    ['a machine that was off: no grace, no stop', 4, ['a start']],
    ['what changed nothing', 7, ['a stop', 'a stop?', 'a start', 'a start?']],
  ])('%s', (_, seconds, words) => {
    expect(physicalSeconds(acts(...words), DELAYS, 2)).toBe(seconds)
  })
})
