import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { StubWorker, stubSpec } from '../client/stub-worker.js'
import { realTemporal } from '../support/parts.js'
import { CommandBed } from './command.js'
import type { Screen } from './screen.js'

describe('a rollout, watched in a terminal', () => {
  let bed: CommandBed
  let worker: StubWorker
  let temporal: Awaited<ReturnType<typeof realTemporal>>
  let taskQueue: string
  let cluster: string
  let file: string

  beforeAll(async () => {
    temporal = await realTemporal()
    bed = await CommandBed.open({
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
      LANG: 'en_GB.UTF-8',
    })
  })
  beforeEach(async () => {
    taskQueue = randomUUID()
    cluster = `c-${taskQueue.slice(0, 8)}`
    file = await bed.file(`${cluster}.json`, stubSpec(cluster))
    worker = await StubWorker.start({ ...temporal, taskQueue })
    worker.closeGate()
  })
  afterEach(() => worker.stop())
  afterAll(() => bed.close())

  /** `start --watch`, until the first drain is on the screen. */
  async function watching(env: Record<string, string> = {}, size = { cols: 80, rows: 40 }): Promise<Screen> {
    const screen = bed.screen(['start', '-f', file, '-w'], { NODEROLL_TASK_QUEUE: taskQueue, ...env }, size)
    await screen.shows(/w-1 +drain/)
    await screen.shows(/0 of 2/)
    return screen
  }

  const count = (lines: readonly string[], what: RegExp) => lines.filter((line) => what.test(line)).length

  it('is drawn over in place, and replaced by how it ended', async () => {
    const screen = await watching()
    const drawn = screen.lines()
    // The seconds of the step go on: it has been drawn again.
    await screen.shows(/drain +\d\d:\d\d:\d\dZ \((?:[2-9]|\d\d+)s\)/)

    expect(count(drawn, /^NODE +STEP +SINCE/)).toBe(1)
    expect(count(drawn, /^worker {2}░{30} {2}0 of 2/)).toBe(1)
    expect(count(screen.everything(), /^NODE/)).toBe(1)
    expect(screen.isCursorVisible()).toBe(false)
    worker.openGate()
    expect(await screen.ended).toBe(0)
    await screen.shows(`${cluster}: done, 2 nodes rolled (w-1, w-2); the cluster is Running`)
    expect(count(screen.everything(), /^NODE|░|█/)).toBe(0)
    expect(screen.isCursorVisible()).toBe(true)
  })

  it('leaves where it stood, and the cursor, when it is interrupted', async () => {
    const screen = await watching()

    screen.type('\u0003')

    expect(await screen.ended).toBe(130)
    await screen.shows(`noderoll watch ${cluster}`)
    const lines = screen.everything()
    expect(lines.slice(2, 9)).toEqual([
      `${cluster}: rolling, batch 1 (worker), 0 done, 2 out of date`,
      '',
      'NODE  POOL    STEP   SINCE      WAITS FOR',
      expect.stringMatching(/^w-1 {3}worker {2}drain {2}\d\d:\d\d:\d\dZ$/),
      '',
      'POOL    TYPE    MACHINES  OUT OF DATE  UNAVAILABLE',
      expect.stringMatching(/^worker {2}worker {2}2 {9}2 {12}0$/),
    ])
    expect(screen.isCursorVisible()).toBe(true)
  })

  it.each([
    ['narrower', { cols: 34, rows: 40 }],
    ['wider', { cols: 120, rows: 40 }],
    ['lower', { cols: 80, rows: 8 }],
  ])('stays one screen in a terminal that becomes %s', async (_, size) => {
    const screen = await watching()

    screen.resize(size)
    await screen.shows((lines) => count(lines, /drain/) === 1 && count(lines, /0 of 2/) === 1)
    await screen.shows(/\((?:[3-9]|\d\d+)s\)/)

    expect(count(screen.lines(), /^NODE/)).toBe(1)
    expect(count(screen.lines(), /^c-\w+: rolling/)).toBe(1)
    expect(Math.max(...screen.lines().map((line) => line.length))).toBeLessThanOrEqual(size.cols)
  })

  it.each<[string, Record<string, string>]>([
    ['a build', { CI: 'true' }],
    ['a dumb terminal', { TERM: 'dumb' }],
  ])('is plain lines in %s', async (_, env) => {
    const screen = bed.screen(['start', '-f', file, '-w'], { NODEROLL_TASK_QUEUE: taskQueue, ...env })
    await screen.shows(/^\d\d:\d\d:\d\dZ w-1 drain$/m)
    worker.openGate()

    expect(await screen.ended).toBe(0)
    await screen.shows('2 nodes rolled')
    expect(screen.everything().filter((line) => /Z w-2 done$/.test(line))).toHaveLength(1)
    // Nothing is drawn over: no movement, no hidden cursor.
    expect(screen.bytes).not.toMatch(/ESC\[(\?25|\d*[A-HJK])/)
  })

  it('has colours, and none with NO_COLOR', async () => {
    const coloured = await watching()
    const plain = bed.screen(['watch', cluster], { NODEROLL_TASK_QUEUE: taskQueue, NO_COLOR: '1' })
    await plain.shows(/w-1 +drain/)

    expect(coloured.bytes).toMatch(/ESC\[\d+m/)
    expect(plain.bytes).not.toMatch(/ESC\[[\d;]*m/)
  })
})
