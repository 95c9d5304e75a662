import { type Batch, batchNodeName, type Position, START_POSITION } from '../../src/core/batch.js'
import { nextBatch, type RolloutFacts } from '../../src/core/next-batch.js'
import { ACTING, anAttempt, CORDONED_BY_US, someMarks } from '../support/builders.js'

export const upToDate = { machine: { offering: 'large' } }
export const stopped = (offering = 'small') => ({ machine: { power: 'stopped' as const, offering } })
/** Taken down by a rollout that ended: machine off, marks left. */
export const takenDown = {
  machine: { power: 'stopped' as const },
  node: { unschedulable: true, marks: someMarks({ bootId: 'b1', attempt: anAttempt(), acting: ACTING }) },
}
/** Cordoned by a rollout that ended before it acted. */
export const cordonedByUs = { node: { unschedulable: true, marks: CORDONED_BY_US } }
export const unreadable = { node: { marks: someMarks({ unreadable: ['noderoll.io/attempt'] }) } }

/** One batch of a plan in words: `recovery w-1 start`. */
function say(batch: Batch): string {
  const nodes = batch.nodes.map((node) => `${batchNodeName(node)} ${node.how}`)
  return `${batch.recovery ? 'recovery ' : ''}${nodes.join(', ')}`
}

export function next(facts: RolloutFacts, position: Position = START_POSITION): string {
  const answer = nextBatch(facts, position)
  switch (answer.kind) {
    case 'batch':
      return say(answer.batch)
    case 'wait':
      return `waits: ${answer.why.join('; ')}`
    case 'done':
      return 'done'
    default:
      return answer satisfies never
  }
}

export function skips(facts: RolloutFacts, position: Position = START_POSITION): string[] {
  return nextBatch(facts, position).view.skipped.map(({ name, why }) => `${name}: ${why}`)
}
