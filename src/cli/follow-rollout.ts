import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RolloutResult } from '../api/results.js'
import { NoderollError } from '../client/noderoll-error.js'
import type { RolloutHandle } from '../client/rollout-handle.js'
import { EXIT, type ExitCode } from './exit-codes.js'
import { linesView } from './lines-view.js'
import { liveView } from './live-view.js'
import type { Output } from './output.js'
import { resultText } from './result-text.js'
import type { WatchView } from './watch-view.js'

const LOOK_MS = 1_000

/**
 * Shows a rollout until it ends, and how it ended: on a terminal in place, elsewhere what changes, a line each. Outages of
 * Temporal or of the workers are said once and waited out: the rollout itself outlives them. An interrupt ends the watching,
 * never the rollout.
 */
export async function followRollout(rollout: RolloutHandle, output: Output): Promise<ExitCode> {
  const view = output.live ? liveView(output) : linesView(output)
  const over = new AbortController()
  const interrupt = () => over.abort()
  // Not `once`: log-update's own listener ends the process when it finds itself alone.
  process.on('SIGINT', interrupt)
  const interrupted = once(over.signal, 'abort')
  const looking = look(rollout, view, over.signal)
  try {
    const end = await Promise.race([untilEnd(rollout, over.signal), interrupted.then(() => null)])
    if (end === null) {
      // Not waited for: an answer may be ten seconds away.
      view.close('interrupted')
      const { cluster } = rollout
      output.note(`noderoll: the rollout of ${cluster} goes on; watch it with\n  noderoll watch ${cluster}`)
      return EXIT.interrupted
    }
    over.abort()
    await looking
    view.close('ended')
    return sayEnd(end, output)
  } finally {
    process.off('SIGINT', interrupt)
  }
}

type End = { readonly result: RolloutResult } | { readonly error: unknown }

/** Null when nobody wants to know any more. */
async function untilEnd(rollout: RolloutHandle, over: AbortSignal): Promise<End | null> {
  while (!over.aborted) {
    try {
      return { result: await rollout.result() }
    } catch (error) {
      if (!isOutage(error)) return { error }
      await sleep(LOOK_MS)
    }
  }
  return null
}

function sayEnd(end: End, output: Output): ExitCode {
  if ('result' in end) {
    const { result } = end
    output.event({ kind: 'ended', result }, resultText(result))
    return result.outcome === 'cancelled' ? EXIT.cancelled : EXIT.done
  }
  const { error } = end
  // What it got to is an answer all the same; the sentence is left to whoever prints errors.
  if (error instanceof NoderollError && error.result !== null) {
    output.event({ kind: 'ended', result: error.result }, resultText(error.result))
  }
  throw error
}

/**
 * Says each outage once, and whatever else keeps the progress from being read twice in a row. Looks once more after the end:
 * the last steps of a batch come and go within a second.
 */
async function look(rollout: RolloutHandle, view: WatchView, over: AbortSignal): Promise<void> {
  let trouble: string | null = null
  let said: string | null = null
  for (;;) {
    const last = over.aborted
    try {
      view.show(await rollout.progress())
      trouble = null
      said = null
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      // Anything but an outage mostly ends the watching, by `untilEnd`: it is said here when it comes a second time.
      const isNews = said !== message && (isOutage(error) || trouble === message)
      if (!last && isNews) {
        view.note(`noderoll: ${message}`)
        said = message
      }
      trouble = message
    }
    if (last) return
    await sleep(LOOK_MS, undefined, { signal: over }).catch(() => undefined)
  }
}

function isOutage(error: unknown): boolean {
  return error instanceof NoderollError && (error.kind === 'unreachable' || error.kind === 'noWorker')
}
