import type { NodeJob, Quarantined } from '../api/activities.js'
import { batchNodeName } from '../core/batch.js'
import { quarantineChange } from '../core/marks.js'
import type { NodeChange, NodeRecord } from '../core/model.js'
import type { World } from '../ports/connections.js'
import { attempting } from './attempt.js'
import { changeNode } from './change-node.js'
import { tellNode } from './node-events.js'
import { holderOf, mustHoldLease } from './ours.js'
import { orFailure } from './port-failure.js'

/** Longest reason that goes into an annotation. */
const MOST_CHARACTERS = 600

/**
 * Leaves a node whose drain cannot end cordoned with a quarantine mark, unless as many others as `limit` carry one
 * already, this rollout's or not (`full`). What was added for the work on it goes. Throws `LeaseLost`.
 */
export function quarantineNode(world: World) {
  return async (input: NodeJob & { reason: string; limit: number }): Promise<Quarantined> =>
    attempting(batchNodeName(input.node), (attempt) =>
      orFailure(`quarantine of ${batchNodeName(input.node)}`, 'NodeChanged', async () => {
        const name = input.node.node
        if (name === null) return { kind: 'notOurs', why: 'it has no Node' }
        const connections = await world.connect(input.target)
        await mustHoldLease(world, connections, input, attempt)
        const nodes = await connections.cluster.nodes(attempt.signal)
        const others = nodes.filter((node) => node.marks.quarantine !== null && node.name !== name)
        if (others.length >= input.limit) return { kind: 'full', others: others.map((node) => node.name) }
        const rollout = holderOf(world, input.rollout)
        let verdict: Verdict = { answer: { kind: 'notOurs', why: 'it is gone from the cluster' } }
        const node = await changeNode(connections.cluster, attempt, name, (now) => {
          verdict = decide(now, input, rollout)
          return verdict.change ?? null
        })
        if (node !== null && verdict.answer.kind === 'quarantined') {
          const text = `Stays cordoned, to be rolled when its pods can go: ${input.reason}`
          tellNode(world, connections.cluster, input, node, {
            type: 'Warning',
            reason: 'NoderollQuarantined',
            text,
          })
        }
        return verdict.answer
      }),
    )
}

interface Verdict {
  readonly answer: Quarantined
  readonly change?: NodeChange
}

function decide(node: NodeRecord, input: NodeJob & { reason: string }, rollout: string): Verdict {
  const { attempt, acting, quarantine } = node.marks
  if (attempt === null || attempt.token !== input.token)
    return { answer: { kind: 'notOurs', why: 'it no longer carries the mark of this batch' } }
  if (acting !== null && acting.token === input.token)
    return { answer: { kind: 'notOurs', why: `${acting.act} was begun` } }
  const reason = input.reason.slice(0, MOST_CHARACTERS)
  // A repeated attempt finds its own mark.
  const again = quarantine?.rollout === rollout && quarantine.reason === reason
  const at = again ? quarantine.at : new Date().toISOString()
  const change = quarantineChange(node, attempt, { reason, at, rollout })
  return { answer: { kind: 'quarantined' }, ...(change === null ? {} : { change }) }
}
