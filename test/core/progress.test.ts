import { describe, expect, it } from 'vitest'
import {
  bounded,
  expectedEnd,
  MOST_NAMES,
  type NodeProgress,
  type Progress,
  progressMarkdown,
  sayBatch,
  sayNames,
} from '../../src/core/progress.js'
import { aBatch, anEtcd, aWorker } from '../support/builders.js'

const QUIET: Progress = {
  cluster: 'prod',
  phase: 'rolling',
  paused: false,
  cancelRequested: 'no',
  batch: null,
  nodes: [],
  pools: [],
  done: { count: 0, names: [] },
  skipped: [],
  notes: [],
  waitsFor: [],
  startedAt: '2026-01-02T03:00:00Z',
  expectedEnd: null,
  lastError: null,
}

function doing(node: string, overrides: Partial<NodeProgress> = {}): NodeProgress {
  return { node, pool: 'worker', step: 'drain', since: '2026-01-02T03:04:05Z', waitsFor: [], ...overrides }
}

/** The Web UI shows tables without any space between columns. */
const NO_BREAK_SPACE = '\u00a0'

function linesOf(overrides: Partial<Progress>): string[] {
  return progressMarkdown({ ...QUIET, ...overrides }).split('\n')
}

describe('progress as Markdown', () => {
  it('CKS-12 is one page: what waits, the nodes, the pools, the rest', () => {
    const text = progressMarkdown({
      ...QUIET,
      phase: 'rolling',
      batch: { number: 3, pool: 'worker', recovery: false },
      nodes: [
        doing('w-1', { step: 'drained' }),
        doing('w-2', { waitsFor: ['pod shop/web', 'budget shop/web'] }),
      ],
      pools: [{ pool: 'worker', type: 'worker', machines: 5, outOfDate: 2, unavailable: 1 }],
      done: { count: 4, names: ['w-3'] },
      skipped: [{ name: 'cp-1', pool: 'control', why: 'the only one of its type' }],
      notes: ['pool worker: maxUnavailable 9 becomes 4 of 5 workers'],
      waitsFor: ['node w-9 is not ready'],
      lastError: 'drain of w-1',
    })

    expect(text).toBe(
      [
        '**prod**: rolling, batch 3 (worker), 4 nodes done, 2 out of date',
        '',
        '- waits for: node w-9 is not ready',
        '',
        '| node_ | step_ | since (UTC)_ | waits for |',
        '| --- | --- | --- | --- |',
        '| w-2_ | drain_ | 02_Jan_03:04_ | pod shop/web; budget shop/web |',
        '| w-1_ | drained_ | 02_Jan_03:04_ |  |',
        '',
        '- pool worker: 2 of 5 machines out of date, 1 unavailable before this batch',
        '- skipped cp-1: the only one of its type',
        '- pool worker: maxUnavailable 9 becomes 4 of 5 workers',
        '',
        'last error: drain of w-1',
      ]
        .join('\n')
        .replaceAll('_', NO_BREAK_SPACE),
    )
  })

  it.each<[string, Partial<Progress>, string]>([
    ['the phase', { phase: 'waiting' }, '**prod**: waiting, 0 nodes done'],
    [
      'what is left, and one node in the singular',
      {
        done: { count: 1, names: ['w-1'] },
        pools: [
          { pool: 'a', type: 'worker', machines: 5, outOfDate: 2, unavailable: 0 },
          { pool: 'b', type: 'worker', machines: 5, outOfDate: 1, unavailable: 0 },
        ],
      },
      '**prod**: rolling, 1 node done, 3 out of date',
    ],
    [
      'a recovery',
      { batch: { number: 1, pool: 'worker', recovery: true } },
      '**prod**: rolling, batch 1 (recovery in worker), 0 nodes done',
    ],
    ['a pause', { phase: 'paused', paused: true }, '**prod**: paused, 0 nodes done'],
    [
      'a pause that is to come',
      { paused: true },
      '**prod**: rolling, 0 nodes done, to pause before the next batch',
    ],
    [
      'a cancel now',
      { cancelRequested: 'now' },
      '**prod**: rolling, 0 nodes done, cancel requested: stops at once, or after this batch where it has stopped a machine',
    ],
    [
      'a cancel between batches',
      { cancelRequested: 'betweenBatches' },
      '**prod**: rolling, 0 nodes done, cancel requested: stops after this batch',
    ],
    [
      'a cancel that has been obeyed',
      { phase: 'ended', cancelRequested: 'betweenBatches' },
      '**prod**: ended, 0 nodes done, cancel requested',
    ],
  ])('CKS-20 the first line says %s', (_, overrides, expected) => {
    expect(linesOf(overrides)[0]).toBe(expected)
  })

  it('names three reasons of a node: the Web UI sends the details in a URL', () => {
    const waitsFor = ['pod a', 'pod b', 'pod c', 'pod d', 'pod e']

    expect(linesOf({ nodes: [doing('w-1', { waitsFor })] }).join()).toContain(
      '| pod a; pod b; pod c; 2 more |',
    )
  })

  it('stays below 64 kB as part of a URL, as the Web UI sends it, when all 50 nodes of a batch wait', () => {
    const name = 'aks-nodepool1-12345678-vmss000'
    const why = `budget a-namespace/a-budget needs 2 healthy, has 2; holds 1 pod: a-namespace/a-deployment-with-a-name-5d8f7c9b6d-x2x4z`
    const nodes = Array.from({ length: 50 }, (_, index) =>
      doing(`${name}${index}`, { waitsFor: Array.from({ length: 10 }, () => why) }),
    )

    const sent = encodeURIComponent(linesOf({ nodes }).join('\n'))

    expect(sent.length).toBeGreaterThan(8_000)
    expect(sent.length).toBeLessThan(64 * 1024)
  })

  it('says steps in words', () => {
    expect(linesOf({ nodes: [doing('w-1', { step: 'putBack' })] }).join()).toContain('put back')
  })

  it('shows no empty table of nodes between batches', () => {
    expect(linesOf({}).filter((line) => line.includes('| node'))).toEqual([])
  })

  it('foreign text breaks no table: pipes are escaped, line breaks become spaces', () => {
    const nasty = 'a | b\nc'
    const lines = linesOf({
      nodes: [doing('w|1', { waitsFor: [nasty] })],
      pools: [{ pool: 'x|y', type: 'worker', machines: 1, outOfDate: 0, unavailable: 0 }],
      skipped: [{ name: 'w-2', pool: 'worker', why: nasty }],
      notes: [nasty],
      waitsFor: [nasty],
      lastError: nasty,
    })

    const kept = 'a \\| b c'
    const row = `| w\\|1_ | drain_ | 02_Jan_03:04_ | ${kept} |`
    expect(lines).toContain(row.replaceAll('_', NO_BREAK_SPACE))
    expect(lines).toContain('- pool x\\|y: 0 of 1 machines out of date')
    expect(lines).toContain(`- skipped w-2: ${kept}`)
    expect(lines).toContain(`- ${kept}`)
    expect(lines).toContain(`- waits for: ${kept}`)
    expect(lines.at(-1)).toBe(`last error: ${kept}`)
  })

  it('shows 100 nodes at the most, those that wait among them', () => {
    const nodes = Array.from({ length: 150 }, (_, index) => doing(`w-${index}`))
    const waiting = doing('w-149', { waitsFor: ['a budget'] })

    const rows = linesOf({ nodes: [...nodes.slice(0, 149), waiting] }).filter((line) =>
      line.startsWith('| w-'),
    )

    expect(rows.length).toBe(100)
    expect(rows[0]).toContain('a budget')
  })
})

describe('lists in payloads', () => {
  it.each([
    ['none', 0, 0],
    ['as many as fit', MOST_NAMES, 100],
    ['one too many', MOST_NAMES + 1, 100],
  ])('hold at most 100 names: %s', (_, count, expected) => {
    const names = Array.from({ length: count }, (_, index) => `w-${index}`)

    expect(bounded(names)).toEqual(names.slice(0, expected))
  })

  it.each([
    ['nobody', [], ''],
    ['as many as are shown', ['a', 'b', 'c', 'd', 'e'], 'a, b, c, d, e'],
    ['more', ['a', 'b', 'c', 'd', 'e', 'f', 'g'], 'a, b, c, d, e and 2 more'],
  ])('name a few in a sentence: %s', (_, names, expected) => {
    expect(sayNames(names)).toBe(expected)
  })

  it('name a batch by its nodes, machines without one by their own name', () => {
    expect(sayBatch(aBatch([aWorker('w-1', { machine: { name: 'vm-1' } }), anEtcd('e-1')]))).toBe('w-1, e-1')
  })
})

describe('when the rollout should end', () => {
  const at = (time: string) => Date.parse(`2026-01-02T${time}Z`)

  it.each<[string, number, number, string | null]>([
    ['nobody knows before the first node', 0, 9, null],
    ['at the pace so far', 2, 3, '2026-01-02T03:25:00.000Z'],
    ['now, when nothing is left', 2, 0, '2026-01-02T03:10:00.000Z'],
  ])('CKS-06 %s', (_, done, left, expected) => {
    expect(expectedEnd(at('03:00:00'), at('03:10:00'), done, left)).toBe(expected)
  })
})
