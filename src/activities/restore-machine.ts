import type { NodeJob, Started } from '../api/activities.js'
import { batchNodeName } from '../core/batch.js'
import type { Machine } from '../core/model.js'
import { comparableGroups } from '../core/out-of-date.js'
import type { World } from '../ports/connections.js'
import type { Machines } from '../ports/machines.js'
import { type Attempt, attempting } from './attempt.js'
import { ensureMachine } from './machine-act.js'
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
        let wasDown = attempt.attempt > 1
        const settled = await untilSettled(machines, input, attempt, (machine) => {
          if (machine.power !== 'running') wasDown = true
        })
        await writeBack(machines, input, attempt, settled)
        const started = await ensureStarted(machines, input, attempt)
        if (started.kind === 'running') return { ...started, wasDown }
        // No room, but perhaps for another size than the old one: whose start it was, only the machine tells.
        const now = await untilSettled(machines, input, attempt)
        if (!(await writeBack(machines, input, attempt, now))) return { ...started, wasDown }
        return { ...(await ensureStarted(machines, input, { ...attempt, before: null })), wasDown }
      }),
    )
}

/**
 * The machine when nothing is under way with it. A start of the new offering that this rollout gave up may still come to
 * nothing: were the old offering not written back after its end, the new one would be started again.
 */
function untilSettled(
  machines: Machines,
  job: NodeJob,
  attempt: Attempt,
  see: (machine: Machine) => void = () => undefined,
): Promise<Machine> {
  return ensureMachine(machines, job, attempt, {
    act: 'way back',
    refusedAs: 'MachineFailed',
    found: async (machine) => see(machine),
    done: ({ power, operation }) => operation === null && (power === 'running' || power === 'stopped'),
    ready: () => false,
    send: async () => null,
  })
}

/** Whether anything had to be written. */
async function writeBack(
  machines: Machines,
  job: NodeJob,
  attempt: Attempt,
  machine: Machine,
): Promise<boolean> {
  if (machine.power === 'running') return false
  const { was } = job.node
  const isOtherOffering = machine.offering !== was.offering
  const isElsewhere = comparableGroups(machine).join('\n') !== [...was.affinityGroups].sort().join('\n')
  if (isOtherOffering) await setOffering(machines, job, attempt, was.offering)
  if (isElsewhere) await setGroups(machines, job, attempt, was.affinityGroups)
  return isOtherOffering || isElsewhere
}
