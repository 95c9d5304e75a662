import type { NodeJob } from '../api/activities.js'
import { type FailureType, failure } from '../api/failures.js'
import { batchNodeName } from '../core/batch.js'
import type { Machine } from '../core/model.js'
import { PortError } from '../ports/errors.js'
import type { Machines, Operation } from '../ports/machines.js'
import type { Attempt } from './attempt.js'
import { type Seen, waitFor } from './wait.js'

/** Longest pause between two looks at a machine, in seconds. */
const SLOWEST_SECONDS = 5

export interface MachineAct {
  /** For messages: `stop`, `start`, `set offering`. */
  readonly act: string
  /** Is it as wanted? */
  done(machine: Machine): boolean
  /** May the call be sent in this state? False: something is under way, wait. */
  ready(machine: Machine): boolean
  send(machines: Machines, signal: AbortSignal): Promise<Operation>
  readonly refusedAs: FailureType
  /** Called with the machine as it is first seen, before anything is decided on it. */
  found?(machine: Machine): Promise<void>
  /** Called each time right before the call goes out: why not yet, empty when it may. Throws when it may not at all. */
  before?(): Promise<readonly string[]>
  /** Seconds it may take, where that is less than what is left of the activity. */
  readonly withinSeconds?: number
}

/**
 * Brings a machine to a state: look, send the call once if it is needed, watch its operation, look again. The machine's
 * own state decides, never an operation's end alone (B26): an attempt that finds the work done sends nothing.
 *
 * A call that comes to nothing is sent once more; `capacity` throws `PortError` of that kind.
 */
export async function ensureMachine(
  machines: Machines,
  job: Pick<NodeJob, 'node'>,
  attempt: Attempt,
  act: MachineAct,
): Promise<Machine> {
  const name = batchNodeName(job.node)
  let operation = operationBefore(attempt, act)
  let sent = 0
  let isFound = false
  let standsInLine = false
  let lastError = ''
  let restsUntil = 0
  let refused = ''
  const limitMs = limitSeconds(attempt, act) * 1000
  const isLate = () => attempt.sinceScheduledMs() > limitMs
  return waitFor<Machine>(attempt, {
    slowestSeconds: SLOWEST_SECONDS,
    limit: null,
    look: async () => {
      const seen = await look()
      if ('why' in seen && isLate()) throw failure('OutcomeUnknown', tooLong(act, name, seen.why))
      return seen
    },
  })

  async function look(): Promise<Seen<Machine>> {
    if (operation !== null) {
      const state = await machines.operation(operation, attempt.signal)
      if (state.kind === 'running') return { why: [`${act.act} of ${name} is under way at the provider`] }
      if (state.kind === 'capacity') throw new PortError('capacity', `${act.act} of ${name}: ${state.why}`)
      if (state.kind !== 'done') lastError = `: ${state.why}`
      operation = null
    }
    if (performance.now() < restsUntil && !isLate())
      return { why: [`${act.act} of ${name} is not taken${refused}`] }
    // The machine was seen and is left alone until then: whoever waits in line must not ask for it all the while.
    if (standsInLine && !isMyTurn()) return { why: [waitsForTurn(act, name)] }
    const machine = await machines.get(job.node.machineId, attempt.signal)
    if (machine === null) {
      throw failure('MachineFailed', `${act.act} of ${name}: its machine is gone at the provider`)
    }
    if (!isFound) await act.found?.(machine)
    isFound = true
    if (act.done(machine)) return { done: machine }
    if (!act.ready(machine) || isLate()) return { why: [sayState(name, machine) + refused] }
    if (sent === MOST_SENDS) {
      throw failure(
        act.refusedAs,
        `${act.act} of ${name} was accepted ${sent} times, and ${sayState(name, machine)}${lastError}`,
      )
    }
    if (!isMyTurn()) return { why: [waitsForTurn(act, name)] }
    const notYet = (await act.before?.()) ?? []
    if (notYet.length > 0) return { why: notYet }
    attempt.mayStillAct()
    try {
      operation = await act.send(machines, attempt.signal)
      sent++
      refused = ''
      attempt.note({ act: act.act, operation })
    } catch (error) {
      // Somebody else's operation came first, or the provider wants to be left alone: wait for the end of that, then look again.
      if (!(error instanceof PortError) || (error.kind !== 'conflict' && error.kind !== 'throttled'))
        throw error
      if (error.kind === 'throttled')
        restsUntil = performance.now() + 1000 * (error.retryAfterSeconds ?? SLOWEST_SECONDS)
      refused = `; ${error.message}`
      return { why: [`${act.act} of ${name} is not taken${refused}`] }
    }
    return { why: [`${act.act} of ${name} was sent`], atOnce: true }
  }

  function isMyTurn(): boolean {
    standsInLine = (machines.turn?.(job.node.machineId) ?? 0) > 0
    return !standsInLine
  }
}

/**
 * Ends before Temporal gives the activity up: so the failure says what was waited for, and this attempt sends nothing
 * any more when the next step, which may undo this one, begins.
 */
function limitSeconds(attempt: Attempt, { withinSeconds }: MachineAct): number {
  const given = attempt.givenSeconds - Math.min(attempt.givenSeconds / 10, SLOWEST_SECONDS)
  const within = withinSeconds === undefined ? given : attempt.sinceScheduledMs() / 1000 + withinSeconds
  return Math.min(given, within)
}

/** What the attempt before was waiting for, when it was this very act: its end has a reason, the machine has none. */
function operationBefore({ before }: Attempt, { act }: MachineAct): Operation {
  if (typeof before !== 'object' || before === null) return null
  const { act: was, operation } = before as { readonly act?: unknown; readonly operation?: unknown }
  return was === act && typeof operation === 'string' ? operation : null
}

function waitsForTurn(act: MachineAct, name: string): string {
  return `${act.act} of ${name} waits for its turn: this worker asks the provider only so often`
}

function tooLong(act: MachineAct, name: string, why: readonly string[]): string {
  return `${act.act} of ${name} did not end in the time it has (machineTimeout): ${why.join('; ')}`
}

/** A call that is accepted and comes to nothing is sent once more, then given up (B26). */
const MOST_SENDS = 2

function sayState(name: string, machine: Machine): string {
  return machine.operation === null
    ? `machine of ${name} is ${machine.power}`
    : `${name}: ${machine.operation} in progress`
}
