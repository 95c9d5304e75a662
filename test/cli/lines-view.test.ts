import { afterEach, describe, expect, it, vi } from 'vitest'
import { linesView } from '../../src/cli/lines-view.js'
import { createOutput, type Output } from '../../src/cli/output.js'
import type { Progress } from '../../src/core/progress.js'

const PROGRESS: Progress = {
  cluster: 'prod',
  phase: 'rolling',
  paused: false,
  cancelRequested: 'no',
  batch: { number: 1, pool: 'worker', recovery: false },
  nodes: [
    {
      node: 'w-1',
      pool: 'worker',
      step: 'drain',
      since: '2026-11-30T11:59:30.000Z',
      waitsFor: ['budget shop/web'],
    },
  ],
  pools: [{ pool: 'worker', type: 'worker', machines: 3, outOfDate: 3, unavailable: 0 }],
  done: { count: 0, names: [] },
  skipped: [],
  notes: [],
  waitsFor: [],
  startedAt: '2026-11-30T11:59:00.000Z',
  expectedEnd: null,
  lastError: null,
}

describe('a rollout that is watched, line by line', () => {
  afterEach(() => vi.restoreAllMocks())

  it.each([
    ['text', ''],
    ['json', '{"kind":"progress"}\n'],
    ['yaml', '---\nkind: progress\n'],
  ] as const)('a change without words is in %s: %j', (format, expected) => {
    let written = ''
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      written += text
      return true
    })

    createOutput(format).event({ kind: 'progress' }, '')

    vi.restoreAllMocks()
    expect(written).toBe(expected)
  })

  it('is an object at each change, with text or without, and none while nothing changes', () => {
    const events: { value: object; text: string }[] = []
    const output: Output = {
      live: false,
      answer: () => undefined,
      note: () => undefined,
      event: (value, text) => events.push({ value, text }),
    }
    const view = linesView(output)
    const nothingBlocks = { ...PROGRESS, nodes: PROGRESS.nodes.map((node) => ({ ...node, waitsFor: [] })) }

    for (const progress of [PROGRESS, structuredClone(PROGRESS), nothingBlocks, nothingBlocks, PROGRESS]) {
      view.show(progress)
    }

    expect(events).toEqual([
      {
        value: { kind: 'progress', progress: PROGRESS },
        text: expect.stringContaining('waits for: budget shop/web'),
      },
      { value: { kind: 'progress', progress: nothingBlocks }, text: '' },
      { value: { kind: 'progress', progress: PROGRESS }, text: expect.stringContaining('budget shop/web') },
    ])
  })
})
