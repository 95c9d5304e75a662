import type { Act, CloudState, SimulatedMachine } from './cloud-state.js'

/** What the cloud makes of a call that would change a machine. */
export type Verdict =
  | { readonly kind: 'begin' }
  | { readonly kind: 'nothingToDo' }
  | { readonly kind: 'refused'; readonly status: number; readonly code: string; readonly message: string }

/** A strict cloud's answer: changes only on a stopped machine, disks only grow, one operation at a time. */
export function judge(state: CloudState, machine: SimulatedMachine, act: Act): Verdict {
  if (machine.operation !== null) {
    return refused(409, 'OperationInProgress', `${machine.name} is busy: ${wordsOf(state, machine)}`)
  }
  if (act.kind === 'stop') return machine.power === 'stopped' ? { kind: 'nothingToDo' } : { kind: 'begin' }
  if (act.kind === 'start') return machine.power === 'running' ? { kind: 'nothingToDo' } : { kind: 'begin' }
  if (machine.power !== 'stopped') {
    return refused(
      409,
      'MachineNotStopped',
      `${act.kind} needs a stopped machine; ${machine.name} is ${machine.power}`,
    )
  }
  switch (act.kind) {
    case 'setOffering':
      if (!state.offerings.some((offering) => offering.name === act.offering)) {
        return refused(400, 'UnknownOffering', `there is no offering ${act.offering}`)
      }
      return act.offering === machine.offering ? { kind: 'nothingToDo' } : { kind: 'begin' }
    case 'growRootDisk':
      if (machine.rootDiskFixed !== null) return refused(400, 'DiskFixed', machine.rootDiskFixed)
      if (act.sizeGiB < machine.rootDiskGiB) {
        return refused(400, 'DiskShrink', `${machine.rootDiskGiB} GiB cannot shrink to ${act.sizeGiB} GiB`)
      }
      return act.sizeGiB === machine.rootDiskGiB ? { kind: 'nothingToDo' } : { kind: 'begin' }
    case 'setAffinityGroups':
      return judgeGroups(state, machine, act.names)
    default:
      return act satisfies never
  }
}

/** Carries out the lasting part of a change that `judge` let pass. Power is the operation's own business. */
export function applyChange(state: CloudState, machine: SimulatedMachine, act: Act): void {
  switch (act.kind) {
    case 'setOffering':
      machine.offering = act.offering
      return
    case 'growRootDisk':
      machine.rootDiskGiB = act.sizeGiB
      return
    case 'setAffinityGroups':
      machine.affinityGroups = state.affinityGroups.filter((group) => act.names.includes(group.name))
      return
    case 'stop':
      machine.power = 'stopped'
      machine.upSince = null
      return
    case 'start':
      machine.power = 'running'
      machine.upSince = Date.now()
      machine.placement = machine.affinityGroups.map((group) => group.name)
      return
    default:
      act satisfies never
  }
}

/** The operation in progress as an operator would read it. */
export function wordsOf(state: CloudState, machine: SimulatedMachine): string | null {
  if (machine.operation === null) return null
  const operation = state.operations[machine.operation]
  return `${operation?.act.kind ?? 'unknown'} (${machine.operation})`
}

function judgeGroups(state: CloudState, machine: SimulatedMachine, names: readonly string[]): Verdict {
  const unknown = names.filter((name) => !state.affinityGroups.some((group) => group.name === name))
  if (unknown.length > 0) {
    return refused(400, 'UnknownAffinityGroup', `there is no affinity group ${unknown.join(', ')}`)
  }
  const now = machine.affinityGroups.map((group) => group.name).sort()
  const wanted = [...new Set(names)].sort()
  return now.join('\n') === wanted.join('\n') ? { kind: 'nothingToDo' } : { kind: 'begin' }
}

function refused(status: number, code: string, message: string): Verdict {
  return { kind: 'refused', status, code, message }
}
