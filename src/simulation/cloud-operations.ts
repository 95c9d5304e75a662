import { applyChange } from './cloud-rules.js'
import type { Act, CloudOperation, CloudState, SimulatedMachine } from './cloud-state.js'
import type { FaultEffect } from './faults.js'

const OPERATIONS_KEPT = 5_000

interface Running {
  readonly operation: CloudOperation
  readonly machine: SimulatedMachine
  readonly fault: FaultEffect | null
  readonly tookEffect: () => void
  timer: NodeJS.Timeout | null
}

/** Operations in progress: each holds its machine until its delay is over, then takes effect or fails. */
export class CloudOperations {
  readonly #state: CloudState
  readonly #changed: (machine: SimulatedMachine) => void
  readonly #running = new Map<string, Running>()
  #count = 0

  constructor(state: CloudState, changed: (machine: SimulatedMachine) => void) {
    this.#state = state
    this.#changed = changed
  }

  /** Accepts an act that the rules let pass. `tookEffect` is called when, and only if, something has changed. */
  begin(
    machine: SimulatedMachine,
    act: Act,
    fault: FaultEffect | null,
    tookEffect: () => void,
  ): CloudOperation {
    this.#count += 1
    const operation: CloudOperation = {
      id: `op-${this.#count}`,
      act,
      machine: machine.id,
      state: 'running',
      why: null,
      forgotten: fault?.kind === 'operationForgotten',
    }
    this.#state.operations[operation.id] = operation
    delete this.#state.operations[`op-${this.#count - OPERATIONS_KEPT}`]
    machine.operation = operation.id
    const running: Running = { operation, machine, fault, tookEffect, timer: null }
    this.#running.set(operation.id, running)
    if (fault?.kind === 'delay') {
      running.timer = setTimeout(() => this.#carryOut(running), fault.ms)
      this.#changed(machine)
    } else {
      this.#carryOut(running)
    }
    return operation
  }

  /** Ends an operation now, with the effect it was asked for; nothing when it has ended already. */
  finish(id: string): void {
    const running = this.#running.get(id)
    if (running === undefined) return
    if (running.timer !== null) clearTimeout(running.timer)
    this.#end(running, 'done')
  }

  close(): void {
    for (const { timer } of this.#running.values()) if (timer !== null) clearTimeout(timer)
    this.#running.clear()
  }

  #carryOut(running: Running): void {
    const { machine, fault } = running
    const { kind } = running.operation.act
    if (fault?.kind !== 'noEffect') {
      if (kind === 'stop') machine.power = 'stopping'
      if (kind === 'start') machine.power = 'starting'
    }
    this.#changed(machine)
    if (fault?.kind === 'operationNeverEnds') return
    const { delays } = this.#state
    const delay = kind === 'stop' ? delays.stopMs : kind === 'start' ? delays.startMs : delays.changeMs
    running.timer = setTimeout(() => this.#end(running, endOf(fault)), delay)
  }

  #end(running: Running, state: 'done' | 'capacity' | 'failed'): void {
    const { operation, machine, fault } = running
    this.#running.delete(operation.id)
    operation.state = state
    operation.why = whyOf(state, machine, fault)
    if (machine.operation === operation.id) machine.operation = null
    if (state !== 'done') {
      // As it was before: a machine that could not be stopped still runs, one that could not be started is off.
      if (operation.act.kind === 'stop') machine.power = 'running'
      if (operation.act.kind === 'start') machine.power = 'stopped'
    } else if (fault?.kind !== 'noEffect') {
      applyChange(this.#state, machine, operation.act)
      running.tookEffect()
    }
    this.#changed(machine)
  }
}

function endOf(fault: FaultEffect | null): 'done' | 'capacity' | 'failed' {
  if (fault?.kind === 'capacity') return 'capacity'
  return fault?.kind === 'operationFails' ? 'failed' : 'done'
}

function whyOf(state: string, machine: SimulatedMachine, fault: FaultEffect | null): string | null {
  if (state === 'capacity') return `no room for ${machine.offering} here and now`
  return state === 'failed' && fault?.kind === 'operationFails' ? fault.message : null
}
