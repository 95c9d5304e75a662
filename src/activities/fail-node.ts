import type { NodeJob } from '../api/activities.js'
import { NOTHING_ADDED } from '../core/additions.js'
import { batchNodeName } from '../core/batch.js'
import { attemptAnnotation, failureAnnotation, MARK_KEYS } from '../core/marks.js'
import type { Machine, NodeChange, NodeRecord } from '../core/model.js'
import { isAnotherMachine } from '../core/verify.js'
import type { World } from '../ports/connections.js'
import { attempting } from './attempt.js'
import { changeNode } from './change-node.js'
import { tellNode } from './node-events.js'
import { holderOf } from './ours.js'
import { orFailure } from './port-failure.js'

/** Longest reason that goes into an annotation. */
const MOST_CHARACTERS = 600

/** K2: the node stays cordoned with one failure mark saying step, reason and machine state. Gives that state in words. */
export function failNode(world: World) {
  return async (input: NodeJob & { step: string; reason: string }): Promise<{ machine: string }> =>
    attempting(batchNodeName(input.node), (attempt) =>
      orFailure(`marking ${batchNodeName(input.node)} as failed`, 'ReleaseIncomplete', async () => {
        const connections = await world.connect(input.target)
        const found = await connections.machines.get(input.node.machineId, attempt.signal)
        const machine = sayMachine(found)
        if (input.node.node === null) return { machine }
        const rollout = holderOf(world, input.rollout)
        const node = await changeNode(connections.cluster, attempt, input.node.node, (now) =>
          failureChange(now, input, { rollout, machine, run: attempt.runId }),
        )
        if (node !== null && !isAnotherMachine(node, input.node)) {
          tellNode(world, connections.cluster, input, node, {
            type: 'Warning',
            reason: 'NoderollFailed',
            text: `${input.step} failed, its machine is ${machine}: ${input.reason}`,
          })
        }
        return { machine }
      }),
    )
}

function sayMachine(machine: Machine | null): string {
  if (machine === null) return 'gone at the provider'
  const disk = machine.rootDiskGiB === null ? '' : `, root disk ${machine.rootDiskGiB} GiB`
  const operation = machine.operation === null ? '' : `, ${machine.operation} in progress`
  return `${machine.power}, offering ${machine.offering}${disk}${operation}`
}

function failureChange(
  node: NodeRecord,
  input: NodeJob & { step: string; reason: string },
  ours: { rollout: string; machine: string; run: string },
): NodeChange | null {
  const mark = node.marks.attempt
  if (isAnotherMachine(node, input.node) || (mark !== null && mark.token !== input.token)) return null
  const { failure } = node.marks
  const reason = input.reason.slice(0, MOST_CHARACTERS)
  if (
    failure !== null &&
    failure.step === input.step &&
    failure.reason === reason &&
    failure.machine === ours.machine &&
    node.unschedulable
  ) {
    return null
  }
  const at = new Date().toISOString()
  const lost =
    mark !== null
      ? {}
      : {
          [MARK_KEYS.attempt]: attemptAnnotation({
            rollout: ours.rollout,
            run: ours.run,
            token: input.token,
            at,
            bootId: input.baseline.bootId,
            uid: node.uid,
            // Taken for somebody else's, the label would keep the node out of its load balancers for ever.
            added: (node.uid === input.baseline.uid && input.baseline.added) || NOTHING_ADDED,
          }),
          ...(input.baseline.cordonedByOthers ? {} : { [MARK_KEYS.bootId]: input.baseline.bootId ?? 'none' }),
        }
  return {
    unschedulable: true,
    annotations: {
      ...lost,
      [MARK_KEYS.failure]: failureAnnotation({
        step: input.step,
        reason,
        machine: ours.machine,
        at,
        rollout: ours.rollout,
      }),
    },
  }
}
