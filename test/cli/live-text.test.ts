import { describe, expect, it } from 'vitest'
import { type Frame, liveText } from '../../src/cli/live-text.js'
import type { NodeProgress, Progress } from '../../src/core/progress.js'

const NOW = '2026-11-30T12:00:00.000Z'
const FRAME: Frame = { columns: 80, rows: 40, unicode: false, now: NOW }

const node = (name: string, changes: Partial<NodeProgress> = {}): NodeProgress => ({
  node: name,
  pool: 'worker',
  step: 'stop',
  since: '2026-11-30T11:59:28.000Z',
  waitsFor: [],
  ...changes,
})

const progress = (changes: Partial<Progress> = {}): Progress => ({
  cluster: 'prod',
  phase: 'rolling',
  paused: false,
  cancelRequested: 'no',
  batch: { number: 2, pool: 'worker', recovery: false },
  nodes: [],
  pools: [
    { pool: 'control', type: 'control', machines: 3, outOfDate: 0, unavailable: 0 },
    { pool: 'worker', type: 'worker', machines: 6, outOfDate: 4, unavailable: 2 },
  ],
  done: { count: 5, names: [] },
  skipped: [],
  notes: [],
  waitsFor: [],
  startedAt: '2026-11-30T11:40:00.000Z',
  expectedEnd: '2026-11-30T12:30:00.000Z',
  lastError: null,
  ...changes,
})

const lines = (changes: Partial<Progress>, frame: Partial<Frame> = {}) =>
  liveText(progress(changes), { ...FRAME, ...frame }).split('\n')

describe('a screen of progress', () => {
  it('says where it stands, until when, who blocks first, and how far each pool is', () => {
    const nodes = [
      node('w-1', { step: 'done' }),
      node('w-2', { step: 'waiting' }),
      node('w-3'),
      node('w-4', { step: 'drain', waitsFor: ['budget shop/web needs 2 healthy, has 2'] }),
      node('w-5', { step: 'failed' }),
    ]

    expect(lines({ nodes })).toEqual([
      'prod: rolling, batch 2 (worker), 5 done, 4 out of date',
      'since 11:40:00Z (20m), until about 12:30:00Z (in 30m)',
      '',
      'NODE  STEP     SINCE            WAITS FOR',
      'w-5   failed   11:59:28Z (32s)',
      'w-4   drain    11:59:28Z (32s)  budget shop/web needs 2 healthy, has 2',
      'w-3   stop     11:59:28Z (32s)',
      'w-2   waiting  11:59:28Z (32s)',
      'w-1   done     11:59:28Z (32s)',
      '',
      'control  ##############################  3 of 3',
      'worker   ##########....................  2 of 6, 2 unavailable',
    ])
  })

  it('shows 15 nodes and counts the rest', () => {
    const nodes = Array.from({ length: 20 }, (_, index) => node(`w-${index + 1}`))

    const shown = lines({ nodes })

    expect(shown.filter((line) => line.startsWith('w-'))).toHaveLength(15)
    expect(shown).toContain('and 5 more nodes')
  })

  it.each([24, 12, 8, 3])('leaves a row for the cursor in a terminal of %s', (rows) => {
    const nodes = Array.from({ length: 20 }, (_, index) => node(`w-${index + 1}`, { waitsFor: ['this'] }))
    const skipped = Array.from({ length: 100 }, (_, index) => ({
      name: `s-${index}`,
      pool: 'worker',
      why: 'x',
    }))

    const shown = lines({ nodes, skipped }, { rows })

    expect(shown.length).toBeLessThan(rows)
    expect(shown[0]).toBe('prod: rolling, batch 2 (worker), 5 done, 4 out of date')
  })

  it.each([200, 80, 60, 40])('is never wider than a terminal of %s, and loses no word', (columns) => {
    const why = 'budget shop/web allows no disruption: needs 2 healthy, has 2; left: web-7f9c5d4b8-abcde'
    const name = 'aks-nodepool1-12345678-vmss000000'
    const nodes = [node(name, { step: 'drain', waitsFor: [why] }), node('w-1')]

    const shown = lines({ nodes, notes: [why], lastError: why }, { columns })

    expect(Math.max(...shown.map((line) => line.length))).toBeLessThanOrEqual(columns)
    const words = shown.join(' ').replace(/\s+/g, ' ')
    expect(words.split(why)).toHaveLength(4)
    expect(words).toContain(name)
  })

  it('breaks what has no spaces rather than cutting it off', () => {
    const id = `/subscriptions/${'0'.repeat(60)}/virtualMachines/w-1`

    expect(lines({ lastError: id }).join('').replace(/ /g, '')).toContain(id)
  })

  it('says what is not known yet, and no estimate that has passed', () => {
    expect(lines({ expectedEnd: null })[1]).toBe(
      'since 11:40:00Z (20m); when it ends can be told after the first batch',
    )
    expect(lines({ expectedEnd: '2026-11-30T11:59:59.000Z' })[1]).toBe(
      'since 11:40:00Z (20m), until about 11:59:59Z',
    )
  })

  it('draws bars that are full only when all are done', () => {
    const pools = [{ pool: 'worker', type: 'worker', machines: 1000, outOfDate: 1, unavailable: 0 } as const]

    expect(lines({ pools }, { unicode: true }).at(-1)).toBe(`worker  ${'█'.repeat(29)}░  999 of 1000`)
    expect(lines({ pools }, { columns: 20 }).at(-1)).toBe('worker  999 of 1000')
  })
})
