import { describe, expect, it } from 'vitest'
import { progressLines } from '../../src/cli/progress-lines.js'
import { headline, progressText } from '../../src/cli/progress-text.js'
import type { NodeProgress, Progress } from '../../src/core/progress.js'

const NOW = '2026-11-30T12:00:00.000Z'

const node = (name: string, changes: Partial<NodeProgress> = {}): NodeProgress => ({
  node: name,
  pool: 'worker',
  step: 'drain',
  since: '2026-11-30T11:59:30.000Z',
  waitsFor: [],
  ...changes,
})

const progress = (changes: Partial<Progress> = {}): Progress => ({
  cluster: 'prod',
  phase: 'rolling',
  paused: false,
  cancelRequested: 'no',
  batch: { number: 1, pool: 'worker', recovery: false },
  nodes: [node('w-1')],
  pools: [{ pool: 'worker', type: 'worker', machines: 3, outOfDate: 3, unavailable: 0 }],
  done: { count: 0, names: [] },
  skipped: [],
  notes: [],
  waitsFor: [],
  startedAt: '2026-11-30T11:59:00.000Z',
  expectedEnd: null,
  lastError: null,
  ...changes,
})

describe('what a watcher is told', () => {
  it('everything, at first', () => {
    expect(progressLines(null, progress({ notes: ['maxUnavailable is clamped to 2'] }), NOW)).toEqual([
      '12:00:00Z prod: rolling, batch 1 (worker), 0 done, 3 out of date',
      '11:59:30Z w-1 drain',
      '12:00:00Z note: maxUnavailable is clamped to 2',
    ])
  })

  it.each<[string, Partial<Progress>, string[]]>([
    ['nothing when nothing has changed', {}, []],
    ['nothing when only the estimate has', { expectedEnd: '2026-11-30T12:30:00.000Z' }, []],
    [
      'a step, with the time it began',
      { nodes: [node('w-1', { step: 'stop', since: '2026-11-30T11:59:50.000Z' })] },
      ['11:59:50Z w-1 stop'],
    ],
    [
      'what a node waits for',
      { nodes: [node('w-1', { waitsFor: ['budget shop/web needs 2 healthy, has 2'] })] },
      ['12:00:00Z w-1 waits for: budget shop/web needs 2 healthy, has 2'],
    ],
    ['what all wait for', { waitsFor: ['w-9 is not ready'] }, ['12:00:00Z prod waits for: w-9 is not ready']],
    [
      'a cancel, and the next batch',
      { cancelRequested: 'betweenBatches', batch: { number: 2, pool: 'worker', recovery: true } },
      ['12:00:00Z prod: rolling, batch 2 (recovery in worker), 0 done, 3 out of date, cancel requested'],
    ],
    [
      'a node that is skipped',
      { skipped: [{ name: 'w-3', pool: 'worker', why: 'its disk cannot grow' }] },
      ['12:00:00Z skipped w-3: its disk cannot grow'],
    ],
    ['the last error', { lastError: 'drain of w-1 failed' }, ['12:00:00Z last error: drain of w-1 failed']],
  ])('%s', (_, changes, expected) => {
    expect(progressLines(progress(), progress(changes), NOW)).toEqual(expected)
  })

  it('a reason again, when it comes back in another step', () => {
    const waitsFor = ['the API server']
    const before = progress({ nodes: [node('w-1', { waitsFor })] })
    const after = progress({ nodes: [node('w-1', { step: 'verify', waitsFor })] })

    expect(progressLines(before, after, NOW)).toEqual([
      '11:59:30Z w-1 verify',
      '12:00:00Z w-1 waits for: the API server',
    ])
  })
})

describe('progress as text', () => {
  it('is a headline and two tables', () => {
    const text = progressText(
      progress({ nodes: [node('w-1'), node('worker-with-a-long-name', { waitsFor: ['this', 'that'] })] }),
    )

    expect(text.split('\n')).toEqual([
      'prod: rolling, batch 1 (worker), 0 done, 3 out of date',
      '',
      'NODE                     POOL    STEP   SINCE      WAITS FOR',
      'w-1                      worker  drain  11:59:30Z',
      'worker-with-a-long-name  worker  drain  11:59:30Z  this; that',
      '',
      'POOL    TYPE    MACHINES  OUT OF DATE  UNAVAILABLE',
      'worker  worker  3         3            0',
    ])
  })

  it('says of an ended rollout neither that it will pause nor when it ends', () => {
    const ended = progress({ phase: 'ended', paused: true, expectedEnd: '2026-11-30T12:30:00.000Z' })

    expect(headline(ended)).toBe('ended, batch 1 (worker), 0 done, 3 out of date')
  })

  it('says when it should be over, and that it will pause', () => {
    const going = progress({ paused: true, expectedEnd: '2026-11-30T12:30:00.000Z' })

    expect(headline(going)).toBe(
      'rolling, to pause after this batch, batch 1 (worker), 0 done, 3 out of date, until about 12:30:00Z',
    )
  })
})
