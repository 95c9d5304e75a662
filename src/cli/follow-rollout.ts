import { setTimeout as sleep } from 'node:timers/promises'
import type { RolloutResult } from '../api/results.js'
import { NoderollError } from '../client/noderoll-error.js'
import type { RolloutHandle } from '../client/rollout-handle.js'
import type { Progress } from '../core/progress.js'
import { EXIT, type ExitCode } from './exit-codes.js'
import type { Output } from './output.js'
import { progressLines } from './progress-lines.js'
import { resultText } from './result-text.js'

const LOOK_MS = 1_000

/**
 * Prints what changes until the rollout ends, and how it ended. Outages of Temporal or of the workers are said once and
 * waited out: the rollout itself outlives them. An interrupt ends the watching, never the rollout.
 */
export async function followRollout(rollout: RolloutHandle, output: Output): Promise<ExitCode> {
  const interrupted = new Promise<ExitCode>((resolve) => {
    process.once('SIGINT', () => {
      output.note(
        `\nnoderoll: the rollout of ${rollout.cluster} goes on; watch it with: noderoll watch ${rollout.cluster}`,
      )
      resolve(EXIT.interrupted)
    })
  })
  return Promise.race([follow(rollout, output), interrupted])
}

async function follow(rollout: RolloutHandle, output: Output): Promise<ExitCode> {
  const over = new AbortController()
  const looking = look(rollout, output, over.signal)
  try {
    const result = await untilEnd(rollout)
    over.abort()
    await looking
    output.event({ kind: 'ended', result }, resultText(result))
    return result.outcome === 'cancelled' ? EXIT.cancelled : EXIT.done
  } catch (error) {
    over.abort()
    await looking
    // What it got to is an answer all the same; the sentence is left to whoever prints errors.
    if (error instanceof NoderollError && error.result !== null) {
      output.event({ kind: 'ended', result: error.result }, resultText(error.result))
    }
    throw error
  }
}

async function untilEnd(rollout: RolloutHandle): Promise<RolloutResult> {
  for (;;) {
    try {
      return await rollout.result()
    } catch (error) {
      if (!isOutage(error)) throw error
      await sleep(LOOK_MS)
    }
  }
}

/** Says each outage once. Looks once more after the end: the last steps of a batch come and go within a second. */
async function look(rollout: RolloutHandle, output: Output, over: AbortSignal): Promise<void> {
  let before: Progress | null = null
  let trouble: string | null = null
  for (;;) {
    const last = over.aborted
    try {
      const after = await rollout.progress()
      const lines = progressLines(before, after, new Date().toISOString())
      if (lines.length > 0) output.event({ kind: 'progress', progress: after }, lines.join('\n'))
      before = after
      trouble = null
    } catch (error) {
      // How it ended is known without a worker; whatever else is wrong, `untilEnd` meets it too.
      const message = error instanceof Error ? error.message : String(error)
      if (!last && isOutage(error) && trouble !== message) output.note(`noderoll: ${message}`)
      trouble = message
    }
    if (last) return
    await sleep(LOOK_MS, undefined, { signal: over }).catch(() => undefined)
  }
}

function isOutage(error: unknown): boolean {
  return error instanceof NoderollError && (error.kind === 'unreachable' || error.kind === 'noWorker')
}
