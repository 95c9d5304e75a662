import type { Batch, PoolCounts, Skip } from './batch.js'
import { batchNodeName } from './batch.js'
import type { FleetView } from './next-batch.js'

/** Words for what a node is in the middle of. Operators read them. */
export type Step =
  | 'waiting'
  | 'cordon'
  | 'drain'
  | 'drained'
  | 'stop'
  | 'resize'
  | 'start'
  | 'restore'
  | 'verify'
  | 'done'
  | 'putBack'
  | 'left'
  | 'quarantined'
  | 'failed'

export interface NodeProgress {
  readonly node: string
  readonly pool: string
  readonly step: Step
  /** ISO time (workflow clock). */
  readonly since: string
  /** What a long wait waits for, as the activity last said. */
  readonly waitsFor: readonly string[]
}

export type Phase = 'starting' | 'waiting' | 'paused' | 'rolling' | 'releasing' | 'ended'

/** The answer of the query `progress`. At most 100 names a list. */
export interface Progress {
  readonly cluster: string
  readonly phase: Phase
  readonly paused: boolean
  readonly cancelRequested: 'no' | 'betweenBatches' | 'now'
  readonly batch: { readonly number: number; readonly pool: string; readonly recovery: boolean } | null
  readonly nodes: readonly NodeProgress[]
  readonly pools: readonly PoolCounts[]
  readonly done: { readonly count: number; readonly names: readonly string[] }
  readonly skipped: readonly Skip[]
  /** Clamps and warnings of the plan. */
  readonly notes: readonly string[]
  /** What the rollout as a whole waits for (preflight, pause, …). */
  readonly waitsFor: readonly string[]
  readonly startedAt: string
  /** ISO time by the pace so far; null until a batch has ended. */
  readonly expectedEnd: string | null
  readonly lastError: string | null
}

/** Longest list of names that travels in a payload. */
export const MOST_NAMES = 100

/** At most `MOST_NAMES`, the first ones. */
export function bounded<T>(list: readonly T[]): readonly T[] {
  return list.length <= MOST_NAMES ? list : list.slice(0, MOST_NAMES)
}

/** How many nodes are skipped, also where not all of them are named. */
export function skippedIn({ skipped, skippedCount }: FleetView): number {
  return skippedCount ?? skipped.length
}

/** Words for steps whose name in data is not one. */
const STEP_WORDS: Partial<Record<Step, string>> = { putBack: 'put back', left: 'left as it is' }

/**
 * The batch at work as Markdown for Temporal's Web UI: one line, a table of the nodes, those that wait for something first,
 * then the pools and what a person should know.
 */
export function progressMarkdown(progress: Progress): string {
  const nodes = [...progress.nodes].sort(
    (a, b) => Number(b.waitsFor.length > 0) - Number(a.waitsFor.length > 0),
  )
  const lines = [`**${cell(progress.cluster)}**: ${sayPhase(progress)}`, '']
  for (const why of progress.waitsFor) lines.push(`- waits for: ${cell(why)}`)
  if (nodes.length > 0) {
    lines.push('', row(['node', 'step', 'since (UTC)', 'waits for']), '| --- | --- | --- | --- |')
    for (const { node, step, since, waitsFor } of bounded(nodes)) {
      lines.push(row([node, STEP_WORDS[step] ?? step, shortUtc(since), sayReasons(waitsFor, FEW_REASONS)]))
    }
  }
  lines.push('')
  for (const pool of progress.pools) lines.push(`- ${sayPool(pool)}`)
  for (const skip of progress.skipped) lines.push(`- skipped ${cell(skip.name)}: ${cell(skip.why)}`)
  for (const note of progress.notes) lines.push(`- ${cell(note)}`)
  if (progress.lastError !== null) lines.push('', `last error: ${cell(progress.lastError)}`)
  return lines.join('\n')
}

/** The Web UI puts no space between columns: a no-break space is one that Markdown does not trim. */
const NO_BREAK_SPACE = '\u00a0'

function row(cells: readonly string[]): string {
  return `| ${cells.map(cell).join(`${NO_BREAK_SPACE} | `)} |`
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** `30 Nov 14:12` of an ISO time, in one piece: a narrow column breaks lines at hyphens too. */
function shortUtc(iso: string): string {
  const month = MONTHS[Number(iso.slice(5, 7)) - 1] ?? ''
  return [iso.slice(8, 10), month, iso.slice(11, 16)].join(NO_BREAK_SPACE)
}

/** The Web UI sends the details in a URL, so they stay short; the query `progress` has all reasons. */
const FEW_REASONS = 3

/** Reasons of a failure: thousands of nodes may have one each, and a failure is stored several times. */
const MOST_REASONS = 10

/** `w-1 is not ready; w-2 is not ready; 4,898 more` */
export function sayReasons(why: readonly string[], most = MOST_REASONS): string {
  const left = why.length - most
  const shown = why.slice(0, most).join('; ')
  return left > 0 ? `${shown}; ${left.toLocaleString('en-US')} more` : shown
}

function sayPhase(progress: Progress): string {
  const { batch, cancelRequested, done, paused, phase, pools } = progress
  const isEnding = phase === 'releasing' || phase === 'ended'
  const left = pools.reduce((sum, pool) => sum + pool.outOfDate, 0)
  return [
    phase,
    ...(batch === null
      ? []
      : [`batch ${batch.number} (${batch.recovery ? 'recovery in ' : ''}${cell(batch.pool)})`]),
    `${done.count} ${done.count === 1 ? 'node' : 'nodes'} done`,
    ...(pools.length === 0 || isEnding ? [] : [`${left} out of date`]),
    ...(paused && phase !== 'paused' && !isEnding ? ['to pause before the next batch'] : []),
    ...(cancelRequested === 'no' ? [] : [`cancel requested${isEnding ? '' : CANCEL_WORDS[cancelRequested]}`]),
  ].join(', ')
}

const CANCEL_WORDS = {
  betweenBatches: ': stops after this batch',
  now: ': stops at once, or after this batch where it has stopped a machine',
} as const

/** The counts are those of the last look, before the batch at work was begun. */
function sayPool({ pool, machines, outOfDate, unavailable }: PoolCounts): string {
  const others = unavailable === 0 ? '' : `, ${unavailable} unavailable before this batch`
  return `pool ${cell(pool)}: ${outOfDate} of ${machines} machines out of date${others}`
}

/** Pipes and line breaks of foreign text would break the table. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}

/** When the rollout should end by the pace of the batches so far; null while there is no pace. */
export function expectedEnd(
  startedAtMs: number,
  nowMs: number,
  doneNodes: number,
  leftNodes: number,
): string | null {
  if (doneNodes === 0) return null
  const perNode = (nowMs - startedAtMs) / doneNodes
  return new Date(nowMs + perNode * leftNodes).toISOString()
}

/** `w-1, w-2 and 3 more`; `of` where the list itself holds only the first of so many. */
export function sayNames(names: readonly string[], most = 5, of = names.length): string {
  const shown = names.slice(0, most).join(', ')
  return of > most ? `${shown} and ${of - Math.min(most, names.length)} more` : shown
}

export function sayBatch(batch: Batch): string {
  return sayNames(batch.nodes.map(batchNodeName))
}
