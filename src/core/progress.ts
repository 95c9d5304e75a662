import type { Batch, PoolCounts, Skip } from './batch.js'
import { batchNodeName } from './batch.js'

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

/** One Markdown table of the batch at work for Temporal's Web UI; nodes that wait for something first. */
export function progressMarkdown(progress: Progress): string {
  const nodes = [...progress.nodes].sort(
    (a, b) => Number(b.waitsFor.length > 0) - Number(a.waitsFor.length > 0),
  )
  const lines = [`**${progress.cluster}**: ${sayPhase(progress)}`, '']
  for (const why of progress.waitsFor) lines.push(`- waits for: ${cell(why)}`)
  if (nodes.length > 0) {
    lines.push('', '| node | pool | step | since | waits for |', '| --- | --- | --- | --- | --- |')
    for (const node of bounded(nodes)) {
      lines.push(
        `| ${cell(node.node)} | ${cell(node.pool)} | ${node.step} | ${node.since} | ${cell(node.waitsFor.join('; '))} |`,
      )
    }
  }
  lines.push('', '| pool | type | machines | out of date | unavailable |', '| --- | --- | --- | --- | --- |')
  for (const pool of progress.pools) {
    lines.push(
      `| ${cell(pool.pool)} | ${pool.type} | ${pool.machines} | ${pool.outOfDate} | ${pool.unavailable} |`,
    )
  }
  for (const skip of progress.skipped) lines.push(`- skipped ${cell(skip.name)}: ${cell(skip.why)}`)
  for (const note of progress.notes) lines.push(`- ${cell(note)}`)
  if (progress.lastError !== null) lines.push('', `last error: ${cell(progress.lastError)}`)
  return lines.join('\n')
}

function sayPhase(progress: Progress): string {
  const done = `${progress.done.count} done`
  const batch = progress.batch === null ? '' : `, batch ${progress.batch.number} (${progress.batch.pool})`
  const cancel = progress.cancelRequested === 'no' ? '' : ', cancel requested'
  return `${progress.paused ? 'paused' : progress.phase}${batch}, ${done}${cancel}`
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

/** `w-1, w-2 and 3 more` */
export function sayNames(names: readonly string[], most = 5): string {
  const shown = names.slice(0, most).join(', ')
  return names.length > most ? `${shown} and ${names.length - most} more` : shown
}

export function sayBatch(batch: Batch): string {
  return sayNames(batch.nodes.map(batchNodeName))
}
