import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { StubWorker, stubSpec } from '../client/stub-worker.js'
import { startTemporal, type TemporalServer } from '../support/temporal.js'
import { CommandBed } from './command.js'

describe('noderoll watch, while Temporal is away', () => {
  let temporal: TemporalServer
  let bed: CommandBed
  let worker: StubWorker

  beforeAll(async () => {
    temporal = await startTemporal({ persistent: true })
    bed = await CommandBed.open({ TEMPORAL_ADDRESS: temporal.address, NODEROLL_TASK_QUEUE: 'outage' })
    worker = await StubWorker.start({ address: temporal.address, namespace: 'default', taskQueue: 'outage' })
  })
  afterAll(async () => {
    await worker.stop()
    await bed.close()
    await temporal.stop()
  })

  it('says so once, waits, and goes on when it is back', async () => {
    worker.closeGate()
    const file = await bed.file('spec.json', stubSpec('prod'))
    const watching = bed.start(['start', '--file', file, '--watch'])
    await watching.said('w-1 drain')
    const screen = bed.screen(['watch', 'prod'])
    await screen.shows(/w-1 +drain/)

    await temporal.process?.kill()
    await watching.said('Temporal does not answer', 'stderr')
    // Above what is drawn, which is there once as before.
    await screen.shows(
      (lines) =>
        lines.some((line) => line.includes('Temporal does not answer')) &&
        lines.filter((line) => /^NODE/.test(line)).length === 1,
    )
    expect(screen.everything().filter((line) => /^NODE/.test(line))).toHaveLength(1)
    await temporal.process?.restart()
    worker.openGate()

    const { code, stdout, stderr } = await watching.ended
    expect(code).toBe(0)
    expect(stderr.match(/does not answer/g)).toHaveLength(1)
    expect(stdout).toContain('prod: done, 2 nodes rolled')
    expect(await screen.ended).toBe(0)
    await screen.shows('prod: done, 2 nodes rolled')
    expect(screen.everything().filter((line) => /^NODE/.test(line))).toHaveLength(0)
    // A task that was lost with the server is handed out again only after its own time limit.
  }, 120_000)
})
