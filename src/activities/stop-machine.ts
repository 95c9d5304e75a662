import { log } from '@temporalio/activity'
import type { NodeJob, Stopped } from '../api/activities.js'
import { failure } from '../api/failures.js'
import { batchNodeName } from '../core/batch.js'
import { actingAnnotation, attemptAnnotation, MARK_KEYS } from '../core/marks.js'
import type { NodeRecord } from '../core/model.js'
import { differences } from '../core/out-of-date.js'
import { podName } from '../core/pods.js'
import { quorumHoldups } from '../core/preflight.js'
import type { RolloutSpec } from '../core/spec.js'
import type { Connections, World } from '../ports/connections.js'
import { portErrorKind } from '../ports/errors.js'
import { type Attempt, attempting } from './attempt.js'
import { changeNode } from './change-node.js'
import { toBeGone } from './drain/pods-left.js'
import { handOverLeadership } from './hand-over.js'
import { ensureMachine } from './machine-act.js'
import { AlreadyDone, myNode } from './my-node.js'
import { holderOf } from './ours.js'
import { isDecision, orFailure } from './port-failure.js'
import { preflightFacts } from './preflight-batch.js'

type StopInput = NodeJob & { spec: RolloutSpec; notAfterSeconds: number }

/**
 * The first act (CKS-15, CKS-17): looks again at everything that makes the stop safe, writes the acting mark, reads it
 * back, and only then stops the machine and waits until it is off.
 *
 * Once the machine is on its way down no step of this node waits for Kubernetes: the API server that could answer may
 * have been on that machine.
 */
export function stopMachine(world: World) {
  return async (input: StopInput): Promise<Stopped> =>
    attempting(batchNodeName(input.node), (attempt) =>
      orFailure(`stop of ${batchNodeName(input.node)}`, 'MachineFailed', async () => {
        const connections = await world.connect(input.target)
        if (input.node.node === null && (await upToDate(connections, input, attempt)))
          return { kind: 'alreadyDone' }
        let marked = false
        let accepted = false
        // Once accepted it is no longer a matter of pods and quorum. Until then every call has a look of its own: the one
        // before may have met another operation, and waited for its end.
        const before = async () => {
          if (accepted) return
          const node = await lookAgain(world, connections, input, attempt)
          mustHaveTime(input, attempt)
          await markActing(world, connections, input, attempt, {
            found: node,
            drained: input.node.how === 'roll',
          })
          marked = true
        }
        try {
          await ensureMachine(connections.machines, input, attempt, {
            act: 'stop',
            refusedAs: 'MachineFailed',
            done: (now) => now.power === 'stopped' && now.operation === null,
            ready: (now) => now.power === 'running' && now.operation === null,
            send: async (machines, signal) => {
              const operation = await machines.stop(input.node.machineId, signal)
              accepted = true
              return operation
            },
            // Nothing to stop (a recovery, or an earlier attempt's stop is on its way): the mark still comes first.
            found: async (machine) => {
              if (machine.power !== 'running') await markOffMachine(world, connections, input, attempt)
            },
            before,
            withinSeconds: input.spec.limits.machineSeconds,
          })
        } catch (error) {
          if (error instanceof AlreadyDone) return { kind: 'alreadyDone' }
          // A refused call was no act (K1). Only the first attempt knows that no other call is under way.
          const isNoAct = error instanceof NotDrained || portErrorKind(error) === 'refused'
          if (isNoAct && marked && !accepted && attempt.attempt === 1)
            await takeBackActing(connections, input, attempt)
          if (error instanceof NotDrained) return { kind: 'notDrained', why: error.message }
          throw error
        }
        return { kind: 'stopped' }
      }),
    )
}

/** A machine without a Node carries no marks: that nothing differs is how a repeated run knows it was here before. */
async function upToDate(connections: Connections, input: StopInput, attempt: Attempt): Promise<boolean> {
  const machine = await connections.machines.get(input.node.machineId, attempt.signal)
  return (
    machine !== null && machine.power === 'running' && differences(machine, input.node.wants).length === 0
  )
}

/** The node is not drained after all; the message says why. */
class NotDrained extends Error {}

/**
 * The machine is off or going off: it will be started again in any case, so a mark that cannot be written now must not
 * leave it there. Only a machine that we never touched (a recovery) needs to be proven ours.
 */
async function markOffMachine(
  world: World,
  connections: Connections,
  input: StopInput,
  attempt: Attempt,
): Promise<void> {
  try {
    const node = await myNode(world, connections, input, attempt)
    await markActing(world, connections, input, attempt, { found: node, drained: false })
  } catch (error) {
    const mayGoOn = portErrorKind(error) === 'unreachable' || (input.node.how === 'roll' && isDecision(error))
    if (!mayGoOn) throw error
    log.warn('Going on without the acting mark', { node: batchNodeName(input.node), reason: String(error) })
  }
}

/** The node as it was before its pods were counted. Throws `NotDrained`, or another when the stop would not be safe. */
async function lookAgain(
  world: World,
  connections: Connections,
  input: StopInput,
  attempt: Attempt,
): Promise<NodeRecord | null> {
  const node = await myNode(world, connections, input, attempt)
  if (input.node.how !== 'roll') return node
  if (node !== null) {
    mustBeCordoned(node)
    const left = await toBeGone(connections.cluster, node, input.spec.drain, attempt)
    const pods = [...left.evict, ...left.wait].map(({ pod }) => podName(pod))
    if (left.refused.length > 0)
      throw failure('DrainRefused', `stop of ${node.name}: ${left.refused.join('; ')}`)
    if (pods.length > 0) throw new NotDrained(`pods came to ${node.name} after its drain: ${pods.join(', ')}`)
  }
  if (input.node.type !== 'worker') {
    await handOverLeadership(connections, input, attempt)
    const batch = { pool: input.node.pool, type: input.node.type, recovery: false, nodes: [input.node] }
    const facts = await preflightFacts(connections, input.spec, batch, attempt.signal)
    const why = quorumHoldups(batch.nodes, facts)
    if (why.length > 0) {
      throw failure('PreflightFailed', `${batchNodeName(input.node)} was not stopped: ${why.join('; ')}`)
    }
  }
  return node
}

function mustBeCordoned(node: NodeRecord): void {
  if (!node.unschedulable) throw new NotDrained(`${node.name} was uncordoned after its drain`)
}

/** CKS-19: counted from when the workflow asked, so that hours without a worker count too. */
function mustHaveTime(input: StopInput, attempt: Attempt): void {
  if (attempt.sinceScheduledMs() > input.notAfterSeconds * 1000) {
    throw failure(
      'BatchTimedOut',
      `${batchNodeName(input.node)} was not stopped: less than ${input.spec.limits.changeReserveSeconds} s of the batch were left`,
    )
  }
}

/**
 * The acting mark, with the boot id of right now: release compares with what was there when we acted (CKS-21). The first
 * try is on the very node that was found before its pods were counted: it was cordoned all the while, so none can have come.
 */
async function markActing(
  world: World,
  connections: Connections,
  input: StopInput,
  attempt: Attempt,
  { found, drained }: { readonly found: NodeRecord | null; readonly drained: boolean },
): Promise<void> {
  const name = input.node.node
  if (name === null) return
  const rollout = holderOf(world, input.rollout)
  const decide = (node: NodeRecord) => {
    const mark = node.marks.attempt
    if (mark === null || mark.token !== input.token) {
      throw failure(
        'NodeChanged',
        `node ${name} no longer carries the mark of this batch; it was not stopped`,
      )
    }
    if (node.marks.acting?.token === input.token) return null
    if (drained) mustBeCordoned(node)
    if (input.node.how === 'roll' && node.bootId !== input.baseline.bootId) {
      throw failure('NodeChanged', `node ${name} rebooted by itself meanwhile; it was not stopped`)
    }
    return { annotations: actingAnnotations(node, mark, { rollout, token: input.token }) }
  }
  await changeNode(connections.cluster, attempt, name, decide, found)
}

async function takeBackActing(connections: Connections, input: StopInput, attempt: Attempt): Promise<void> {
  if (input.node.node === null) return
  await changeNode(connections.cluster, attempt, input.node.node, (node) =>
    node.marks.acting?.token === input.token ? { annotations: { [MARK_KEYS.acting]: null } } : null,
  )
}

function actingAnnotations(
  node: NodeRecord,
  mark: NonNullable<NodeRecord['marks']['attempt']>,
  ours: { rollout: string; token: string },
): Record<string, string | null> {
  const acting = actingAnnotation({ act: 'stop', at: new Date().toISOString(), ...ours })
  const refreshed =
    node.bootId === null || node.bootId === mark.bootId ? null : { ...mark, bootId: node.bootId }
  return {
    [MARK_KEYS.acting]: acting,
    // It is drained: what kept it in quarantine is over.
    ...(node.marks.quarantine === null ? {} : { [MARK_KEYS.quarantine]: null }),
    ...(refreshed === null ? {} : { [MARK_KEYS.attempt]: attemptAnnotation(refreshed) }),
    ...(node.marks.bootId === null || node.bootId === null ? {} : { [MARK_KEYS.bootId]: node.bootId }),
  }
}
