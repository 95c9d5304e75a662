import type { NodeJob, Started } from '../api/activities.js'
import { batchNodeName } from '../core/batch.js'
import { comparableGroups } from '../core/out-of-date.js'
import type { World } from '../ports/connections.js'
import { attempting } from './attempt.js'
import { orFailure } from './port-failure.js'
import { setGroups, setOffering } from './resize-machine.js'
import { ensureStarted } from './start-machine.js'

/**
 * K2: writes back the offering and the groups the machine had before, and starts it. A disk that has grown stays grown:
 * it cannot shrink and harms nothing. A machine that runs is left running as it is.
 */
export function restoreMachine(world: World) {
  return async (input: NodeJob): Promise<Started & { wasDown: boolean }> =>
    attempting(batchNodeName(input.node), (attempt) =>
      orFailure(`restoring ${batchNodeName(input.node)}`, 'MachineFailed', async () => {
        const { machines } = await world.connect(input.target)
        const { was } = input.node
        const machine = await machines.get(input.node.machineId, attempt.signal)
        const wasDown = machine !== null && machine.power !== 'running'
        if (machine !== null && wasDown && machine.power !== 'starting') {
          if (machine.offering !== was.offering) await setOffering(machines, input, attempt, was.offering)
          if (comparableGroups(machine).join('\n') !== [...was.affinityGroups].sort().join('\n')) {
            await setGroups(machines, input, attempt, was.affinityGroups)
          }
        }
        return { ...(await ensureStarted(machines, input, attempt)), wasDown: wasDown || attempt.attempt > 1 }
      }),
    )
}
