import { isDeepStrictEqual } from 'node:util'
import type { Progress } from '../core/progress.js'
import type { Output } from './output.js'
import { progressLines } from './progress-lines.js'
import type { WatchView } from './watch-view.js'

/** What has changed, a line each; or each change as one object. */
export function linesView(output: Output): WatchView {
  let before: Progress | null = null
  let closed = false
  return {
    show: (after) => {
      if (closed) return
      if (isDeepStrictEqual(before, after)) return
      const lines = progressLines(before, after, new Date().toISOString())
      output.event({ kind: 'progress', progress: after }, lines.join('\n'))
      before = after
    },
    note: (text) => {
      if (!closed) output.note(text)
    },
    close: () => {
      closed = true
    },
  }
}
