import { describe, expect, it } from 'vitest'
import type { RolloutResult } from '../../src/api/results.js'
import { resultText } from '../../src/cli/result-text.js'

const result = (changes: Partial<RolloutResult>): RolloutResult => ({
  cluster: 'prod',
  outcome: 'failed',
  state: 'Alert',
  done: { count: 1, names: ['w-1'] },
  skipped: [],
  failed: [],
  leftCordoned: [],
  pools: [],
  warnings: [],
  capacity: null,
  lastError: null,
  ...changes,
})

describe('how a rollout ended, as text', () => {
  it('says what became of a node once', () => {
    const reason = 'the host has a broken disk'
    const text = resultText(
      result({
        failed: [{ node: 'w-2', step: 'start', type: 'MachineFailed', reason, outcome: 'it stays cordoned' }],
        leftCordoned: [
          { name: 'w-2', pool: 'worker', why: `failed in start: ${reason}` },
          { name: 'w-3', pool: 'worker', why: 'somebody else has cordoned it' },
        ],
        lastError: `start failed: ${reason}`,
      }),
    )

    expect(text.split('\n')).toEqual([
      'prod: failed, 1 node rolled (w-1); the cluster is Alert',
      '',
      'failed w-2 at start: the host has a broken disk; it stays cordoned',
      'left cordoned w-3: somebody else has cordoned it',
    ])
  })

  it('says the last error when it is news', () => {
    const text = resultText(result({ outcome: 'cancelled', state: 'Running', lastError: 'cancelled by ada' }))

    expect(text).toBe(
      'prod: cancelled, 1 node rolled (w-1); the cluster is Running\n\nlast error: cancelled by ada',
    )
  })
})
