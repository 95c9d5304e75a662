import type { SimulatedDelays } from '../src/simulation/cloud-state.js'
import type { LoggedRequest } from '../src/simulation/request-log.js'

/**
 * What nobody can go below, from the acts that the simulated cloud has seen: the sum over the batches of what the slowest
 * machine of each had to wait for, which is the grace of its pods, its stop, its changes, its start and its boot.
 * A batch is what was stopped together: no machine of the next one is stopped before all of this one are started again.
 */
export function physicalSeconds(
  acts: readonly LoggedRequest[],
  delays: SimulatedDelays,
  graceSeconds: number,
): number {
  let total = 0
  let batch = new Map<string, number>()
  const stopped = new Set<string>()
  for (const { machineId, call, effective } of acts) {
    if (!effective || machineId === null) continue
    if (call === 'stop') {
      if (stopped.size === 0) {
        total += Math.max(0, ...batch.values())
        batch = new Map()
      }
      stopped.add(machineId)
      batch.set(machineId, graceSeconds)
    }
    if (call === 'start') stopped.delete(machineId)
    batch.set(machineId, (batch.get(machineId) ?? 0) + delayOf(call, delays) / 1000)
  }
  return total + Math.max(0, ...batch.values())
}

function delayOf(call: LoggedRequest['call'], delays: SimulatedDelays): number {
  if (call === 'stop') return delays.stopMs
  return call === 'start' ? delays.startMs + delays.bootMs : delays.changeMs
}
