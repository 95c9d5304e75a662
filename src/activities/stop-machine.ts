import { log } from '@temporalio/activity'
import type { NodeJob, Stopped } from '../api/activities.js'
import { failure } from '../api/failures.js'
import { batchNodeName } from '../core/batch.js'
import { actingAnnotation, attemptAnnotation, MARK_KEYS } from '../core/marks.js'
import type { NodeRecord } from '../core/model.js'
import { differences } from '../core/out-of-date.js'
import { podName } from '../core/pods.js'
import { isUnsure, quorumHoldups } from '../core/preflight.js'
import type { RolloutSpec } from '../core/spec.js'
import type { Connections, World } from '../ports/connections.js'
import { type PortErrorKind, portErrorKind } from '../ports/errors.js'
import type { Machines, Operation } from '../ports/machines.js'
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
 * back, and only then stops the machine and waits until it is off. A call that the provider was too busy for is sent
 * later, and everything is looked at again before it: ten minutes on, another member may be down.
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
        const sending: Sending = { marked: false, untouched: false }
        const looking = lookingAgain(world, connections, input, attempt)
        try {
          await ensureMachine(connections.machines, input, attempt, {
            act: 'stop',
            refusedAs: 'MachineFailed',
            done: (now) => now.power === 'stopped' && now.operation === null,
            ready: (now) => now.power === 'running' && now.operation === null,
            send: (machines, signal) => sendStop(machines, input.node.machineId, signal, sending),
            // Nothing to stop (a recovery, or an earlier attempt's stop is on its way): the mark still comes first.
            found: async ({ power }) => {
              if (power === 'stopped' || power === 'stopping')
                await markOffMachine(world, connections, input, attempt)
            },
            before: async () => {
              const seen = await looking()
              if ('why' in seen) return seen.why
              mustHaveTime(input, attempt)
              if (sending.marked) return []
              const isNew = await markActing(world, connections, input, attempt, {
                found: seen.node,
                drained: true,
              })
              sending.marked = true
              sending.untouched = isNew
              return []
            },
            withinSeconds: input.spec.limits.machineSeconds,
          })
        } catch (error) {
          if (error instanceof AlreadyDone) return { kind: 'alreadyDone' }
          if (sending.marked && sending.untouched) await takeBackActing(connections, input, attempt)
          if (error instanceof NotDrained) return { kind: 'notDrained', why: error.message }
          throw error
        }
        return { kind: 'stopped' }
      }),
    )
}

interface Sending {
  marked: boolean
  /** No call can have been accepted: ours was the first acting mark, which comes before every call. */
  untouched: boolean
}

/** What says that the provider did not take the call; after any other error it may have. */
const NOT_ACCEPTED: readonly unknown[] = ['refused', 'conflict', 'throttled'] satisfies PortErrorKind[]

async function sendStop(
  machines: Machines,
  id: string,
  signal: AbortSignal,
  sending: Sending,
): Promise<Operation> {
  try {
    const operation = await machines.stop(id, signal)
    sending.untouched = false
    return operation
  } catch (error) {
    if (!NOT_ACCEPTED.includes(portErrorKind(error))) sending.untouched = false
    throw error
  }
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
    const kind = portErrorKind(error)
    const mayGoOn =
      kind === 'unreachable' || (input.node.how === 'roll' && (kind !== null || isDecision(error)))
    if (!mayGoOn) throw error
    log.warn('Going on without the acting mark', { node: batchNodeName(input.node), reason: String(error) })
  }
}

/**
 * Seconds that what nobody could tell right before the stop is asked for again: the leadership has just moved, and one
 * slow answer would end the rollout. What is known to be wrong ends it at once.
 */
const UNSURE_SECONDS = 15

type SeenAgain = { readonly node: NodeRecord | null } | { readonly why: readonly string[] }

/**
 * Looks at everything that makes the stop safe, afresh each time it is called. Gives the node as it was before its pods
 * were counted. Throws `NotDrained`, `AlreadyDone`, or another when the stop would not be safe.
 */
function lookingAgain(
  world: World,
  connections: Connections,
  input: StopInput,
  attempt: Attempt,
): () => Promise<SeenAgain> {
  let unsureSince: number | null = null
  return async () => {
    const node = await myNode(world, connections, input, attempt)
    if (input.node.how !== 'roll') await startedMeanwhile(connections, input, attempt)
    if (node !== null) await mustBeEmpty(connections, input, attempt, node)
    if (input.node.type === 'worker') return { node }
    await handOverLeadership(connections, input, attempt)
    const batch = { pool: input.node.pool, type: input.node.type, recovery: false, nodes: [input.node] }
    const facts = await preflightFacts(connections, input.spec, batch, attempt.signal)
    const why = quorumHoldups(batch.nodes, facts)
    if (why.length === 0) return { node }
    unsureSince ??= performance.now()
    if (isUnsure(facts) && performance.now() - unsureSince < UNSURE_SECONDS * 1000) return { why }
    throw failure('PreflightFailed', `${batchNodeName(input.node)} was not stopped: ${why.join('; ')}`)
  }
}

/** It was off when the batch was chosen: its pods were not drained, nor was anything waited for that a stop would need. */
async function startedMeanwhile(
  connections: Connections,
  input: StopInput,
  attempt: Attempt,
): Promise<never> {
  if (await upToDate(connections, input, attempt)) throw new AlreadyDone()
  throw failure(
    'NodeChanged',
    `the machine of ${batchNodeName(input.node)} was off and somebody has started it meanwhile; it was not stopped, ask again`,
  )
}

async function mustBeEmpty(
  connections: Connections,
  input: StopInput,
  attempt: Attempt,
  node: NodeRecord,
): Promise<void> {
  mustBeCordoned(node)
  const left = await toBeGone(connections.cluster, node, input.spec.drain, attempt)
  const pods = [...left.evict, ...left.wait].map(({ pod }) => podName(pod))
  if (left.refused.length > 0)
    throw failure('DrainRefused', `stop of ${node.name}: ${left.refused.join('; ')}`)
  if (pods.length > 0) throw new NotDrained(`pods came to ${node.name} after its drain: ${pods.join(', ')}`)
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
 * False when it was there already: an earlier attempt may have acted.
 */
async function markActing(
  world: World,
  connections: Connections,
  input: StopInput,
  attempt: Attempt,
  { found, drained }: { readonly found: NodeRecord | null; readonly drained: boolean },
): Promise<boolean> {
  const name = input.node.node
  if (name === null) return false
  let isNew = true
  const rollout = holderOf(world, input.rollout)
  const decide = (node: NodeRecord) => {
    const mark = node.marks.attempt
    if (mark === null || mark.token !== input.token) {
      throw failure(
        'NodeChanged',
        `node ${name} no longer carries the mark of this batch; it was not stopped`,
      )
    }
    isNew = node.marks.acting?.token !== input.token
    if (!isNew) return null
    if (drained) mustBeCordoned(node)
    if (input.node.how === 'roll' && node.bootId !== input.baseline.bootId) {
      throw failure('NodeChanged', `node ${name} rebooted by itself meanwhile; it was not stopped`)
    }
    return { annotations: actingAnnotations(node, mark, { rollout, token: input.token }) }
  }
  await changeNode(connections.cluster, attempt, name, decide, found)
  return isNew
}

/** K1: a call that was not taken was no act. Where it cannot be taken back, the mark says more than was done. */
async function takeBackActing(connections: Connections, input: StopInput, attempt: Attempt): Promise<void> {
  if (input.node.node === null || attempt.signal.aborted) return
  try {
    await changeNode(connections.cluster, attempt, input.node.node, (node) =>
      node.marks.acting?.token === input.token ? { annotations: { [MARK_KEYS.acting]: null } } : null,
    )
  } catch (error) {
    log.warn('Could not take the acting mark back', { node: input.node.node, reason: String(error) })
  }
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
