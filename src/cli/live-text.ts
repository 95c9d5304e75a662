import ms from 'ms'
import type { PoolCounts } from '../core/batch.js'
import type { NodeProgress, Progress } from '../core/progress.js'
import { paint } from './paint.js'
import { paragraphs } from './paragraphs.js'
import { headline, shortTime } from './progress-text.js'
import { fold, table } from './table.js'

export interface Frame {
  readonly columns: number
  readonly rows: number
  /** Bars beyond ASCII. */
  readonly unicode: boolean
  /** ISO time. */
  readonly now: string
}

const MOST_NODES = 15
const BAR_COLUMNS = 30

/** Progress as one screen that is drawn over and over: never wider, nor higher than leaves a row for the cursor. */
export function liveText(progress: Progress, frame: Frame): string {
  // Nodes give way first: the rest of them is counted, the rest of a screen would be lost.
  for (let most = MOST_NODES; ; most -= 1) {
    const lines = liveLines(progress, frame, most)
    if (lines.length < frame.rows) return lines.join('\n')
    if (most === 0) return lines.slice(0, Math.max(1, frame.rows - 1)).join('\n')
  }
}

function liveLines(progress: Progress, frame: Frame, most: number): string[] {
  const { columns } = frame
  const sentence = (text: string) => fold(text, columns)
  const blocks = [
    [
      ...sentence(`${paint('bold', progress.cluster)}: ${headline({ ...progress, expectedEnd: null })}`),
      ...sentence(timeLine(progress, frame.now)),
      ...progress.waitsFor.flatMap((why) => sentence(paint('yellow', `waits for: ${why}`))),
      ...(progress.lastError === null ? [] : sentence(paint('red', `last error: ${progress.lastError}`))),
    ],
    nodeLines(progress.nodes, frame, most),
    progress.pools.map((pool) => barLine(pool, progress.pools, frame)),
    [
      ...progress.skipped
        .slice(0, most)
        .flatMap((skip) => sentence(paint('yellow', `skipped ${skip.name}: ${skip.why}`))),
      ...more(progress.skipped.length, most, 'skipped'),
      ...progress.notes.slice(0, most).flatMap((note) => sentence(`note: ${note}`)),
      ...more(progress.notes.length, most, 'notes'),
    ],
  ]
  return paragraphs(...blocks)
}

function nodeLines(nodes: readonly NodeProgress[], { columns, now }: Frame, most: number): string[] {
  const shown = [...nodes].sort((a, b) => rank(a) - rank(b)).slice(0, most)
  const rows = shown.map((node) => [
    node.node,
    node.step,
    `${shortTime(node.since)} (${elapsed(node.since, now)})`,
    node.waitsFor.length === 0 ? '' : paint('yellow', node.waitsFor.join('; ')),
  ])
  return [
    ...table([['NODE', 'STEP', 'SINCE', 'WAITS FOR'], ...rows], columns),
    ...more(nodes.length, most, 'nodes'),
  ]
}

/** Those that wait for something first, then those at work, then those whose turn comes, then those that are over. */
function rank({ step, waitsFor }: NodeProgress): number {
  if (step === 'failed') return 0
  if (step === 'done' || step === 'putBack') return 4
  if (waitsFor.length > 0) return 1
  return step === 'waiting' ? 3 : 2
}

function more(count: number, most: number, what: string): string[] {
  return count > most ? [`and ${count - most} more ${what}`] : []
}

function barLine(pool: PoolCounts, pools: readonly PoolCounts[], { columns, unicode }: Frame): string {
  const done = pool.machines - pool.outOfDate
  const counts = `${done} of ${pool.machines}${pool.unavailable === 0 ? '' : `, ${pool.unavailable} unavailable`}`
  const name = pool.pool.padEnd(Math.max(...pools.map((one) => one.pool.length)))
  const width = Math.min(BAR_COLUMNS, columns - name.length - counts.length - 4)
  // A bar of a few columns says nothing.
  if (width < 5) return `${name}  ${counts}`
  const [full, empty] = unicode ? ['█', '░'] : ['#', '.']
  // Full only when all are done, whatever rounding says.
  const filled = pool.machines === 0 ? width : Math.floor((done / pool.machines) * width)
  return `${name}  ${paint('green', full.repeat(filled))}${empty.repeat(width - filled)}  ${counts}`
}

function timeLine({ expectedEnd, phase, startedAt }: Progress, now: string): string {
  const began = `since ${shortTime(startedAt)} (${elapsed(startedAt, now)})`
  if (phase === 'ended') return began
  if (expectedEnd === null) return `${began}; when it ends can be told after the first batch`
  const left = Date.parse(expectedEnd) - Date.parse(now)
  return `${began}, until about ${shortTime(expectedEnd)}${left >= 1000 ? ` (in ${ms(wholeSeconds(left))})` : ''}`
}

/** `32s`, `5m`; the clocks of two machines may differ, so never less than nothing. */
function elapsed(since: string, now: string): string {
  const seconds = wholeSeconds(Date.parse(now) - Date.parse(since))
  return seconds <= 0 ? '0s' : ms(seconds)
}

function wholeSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000) * 1000
}
