import type { NodeJob, Started } from '../api/activities.js'
import { batchNodeName } from '../core/batch.js'
import type { World } from '../ports/connections.js'
import { PortError } from '../ports/errors.js'
import type { Machines } from '../ports/machines.js'
import { type Attempt, attempting } from './attempt.js'
import { ensureMachine } from './machine-act.js'
import { orFailure } from './port-failure.js'

/**
 * Starts the machine and waits until it runs. A giving-back act: needs the machine only, never Kubernetes. `noCapacity`
 * when the provider has no room for this size. Throws `MachineFailed`.
 */
export function startMachine(world: World) {
  return async (input: NodeJob): Promise<Started> =>
    attempting(batchNodeName(input.node), (attempt) =>
      orFailure(`start of ${batchNodeName(input.node)}`, 'MachineFailed', async () => {
        const { machines } = await world.connect(input.target)
        return ensureStarted(machines, input, attempt)
      }),
    )
}

export async function ensureStarted(machines: Machines, job: NodeJob, attempt: Attempt): Promise<Started> {
  try {
    await ensureMachine(machines, job, attempt, {
      act: 'start',
      refusedAs: 'MachineFailed',
      done: (machine) => machine.power === 'running' && machine.operation === null,
      ready: (machine) => machine.power === 'stopped' && machine.operation === null,
      send: (port, signal) => port.start(job.node.machineId, signal),
    })
    return { kind: 'running' }
  } catch (error) {
    if (error instanceof PortError && error.kind === 'capacity')
      return { kind: 'noCapacity', why: error.message }
    throw error
  }
}
