import type { NodeProgress, Progress } from '../core/progress.js'
import { headline, shortTime } from './progress-text.js'

/** What has changed since `before`, a line each, with the time of the change; empty when nothing has. */
export function progressLines(before: Progress | null, after: Progress, now: string): string[] {
  const lines: string[] = []
  const say = (at: string, text: string) => lines.push(`${shortTime(at)} ${text}`)
  if (before === null || standing(before) !== standing(after)) {
    say(now, `${after.cluster}: ${headline(after)}`)
  }
  for (const why of after.waitsFor) {
    if (!before?.waitsFor.includes(why)) say(now, `${after.cluster} waits for: ${why}`)
  }
  for (const node of after.nodes) {
    const was = before?.nodes.find((one) => one.node === node.node)
    if (was?.step !== node.step || was.since !== node.since) say(node.since, `${node.node} ${node.step}`)
    for (const why of newReasons(was, node)) say(now, `${node.node} waits for: ${why}`)
  }
  for (const skip of after.skipped) {
    if (!before?.skipped.some((one) => one.name === skip.name)) say(now, `skipped ${skip.name}: ${skip.why}`)
  }
  for (const note of after.notes) if (!before?.notes.includes(note)) say(now, `note: ${note}`)
  if (after.lastError !== null && after.lastError !== before?.lastError) {
    say(now, `last error: ${after.lastError}`)
  }
  return lines
}

function newReasons(was: NodeProgress | undefined, node: NodeProgress): readonly string[] {
  const known = was?.step === node.step ? was.waitsFor : []
  return node.waitsFor.filter((why) => !known.includes(why))
}

/** The headline without the estimate, which changes with every look. */
function standing(progress: Progress): string {
  return headline({ ...progress, expectedEnd: null })
}
