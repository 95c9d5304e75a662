import { clearScreenDown, moveCursor } from 'node:readline'
import { stripVTControlCharacters } from 'node:util'
import { createLogUpdate } from 'log-update'
import type { Progress } from '../core/progress.js'
import { liveText } from './live-text.js'
import type { Output } from './output.js'
import { progressText } from './progress-text.js'
import { isUnicodeTerminal } from './terminal.js'
import type { WatchView } from './watch-view.js'

/** The last lines of a terminal, drawn over in place. */
export function liveView(output: Output): WatchView {
  const { stdout } = process
  const draw = createLogUpdate(stdout)
  let last: Progress | null = null
  let drawn = ''
  let closed = false

  function redraw(): void {
    if (last === null) return
    const { columns, rows } = stdout
    // A terminal that does not know its size says 0.
    const size = { columns: columns || 80, rows: rows || 24 }
    drawn = liveText(last, { ...size, unicode: isUnicodeTerminal(), now: new Date().toISOString() })
    draw(drawn)
  }
  function resized(): void {
    // A narrower terminal has folded what was drawn: it is higher now than log-update remembers.
    const folded = drawn.split('\n').map((line) => {
      const { length } = stripVTControlCharacters(line)
      return Math.max(1, Math.ceil(length / (stdout.columns || 80)))
    })
    moveCursor(stdout, 0, -folded.reduce((sum, one) => sum + one, 0))
    clearScreenDown(stdout)
    draw.done()
    redraw()
  }
  function continued(): void {
    // The shell has written below it meanwhile.
    draw.done()
    redraw()
  }
  stdout.on('resize', resized)
  process.on('SIGCONT', continued)

  return {
    show: (progress) => {
      if (closed) return
      last = progress
      redraw()
    },
    note: (text) => {
      if (closed) return
      draw.clear()
      output.note(text)
      redraw()
    },
    close: (why) => {
      closed = true
      stdout.off('resize', resized)
      process.off('SIGCONT', continued)
      draw.clear()
      draw.done()
      if (why === 'interrupted' && last !== null) {
        const stood = last
        output.answer(stood, () => progressText(stood))
      }
    },
  }
}
