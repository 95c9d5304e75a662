import type { NodeJob } from '../api/activities.js'
import { failure } from '../api/failures.js'
import { batchNodeName } from '../core/batch.js'
import type { Machine } from '../core/model.js'
import { comparableGroups, recordedGroups } from '../core/out-of-date.js'
import type { World } from '../ports/connections.js'
import type { Machines } from '../ports/machines.js'
import { type Attempt, attempting } from './attempt.js'
import { ensureMachine, type MachineAct } from './machine-act.js'
import { orFailure } from './port-failure.js'

/**
 * Changes a stopped machine, in this order: offering, root disk, affinity groups (CKS-17); what is as wanted is not
 * touched. A giving-back act: needs the machine only, never Kubernetes. Throws `MachineFailed`.
 */
export function resizeMachine(world: World) {
  return async (input: NodeJob & { offering: string | null }): Promise<void> =>
    attempting(batchNodeName(input.node), (attempt) =>
      orFailure(`resize of ${batchNodeName(input.node)}`, 'MachineFailed', async () => {
        const { machines } = await world.connect(input.target)
        const { wants } = input.node
        if (input.offering !== null) await setOffering(machines, input, attempt, input.offering)
        if (wants.rootDiskGiB !== null) await growDisk(machines, input, attempt, wants.rootDiskGiB)
        const groups = recordedGroups(wants)
        if (groups !== null) await setGroups(machines, input, attempt, groups)
      }),
    )
}

export async function setOffering(
  machines: Machines,
  job: NodeJob,
  attempt: Attempt,
  offering: string,
): Promise<void> {
  await changeStopped(machines, job, attempt, {
    act: `offering ${offering}`,
    done: (machine) => machine.offering === offering,
    send: (port, signal) => port.setOffering(job.node.machineId, offering, signal),
  })
}

async function growDisk(machines: Machines, job: NodeJob, attempt: Attempt, sizeGiB: number): Promise<void> {
  await changeStopped(machines, job, attempt, {
    act: `root disk ${sizeGiB} GiB`,
    done: (machine) => machine.rootDiskGiB !== null && machine.rootDiskGiB >= sizeGiB,
    send: (port, signal) => port.growRootDisk(job.node.machineId, sizeGiB, signal),
  })
}

export async function setGroups(
  machines: Machines,
  job: NodeJob,
  attempt: Attempt,
  names: readonly string[],
): Promise<void> {
  const wanted = [...names].sort().join('\n')
  await changeStopped(machines, job, attempt, {
    act: `affinity groups ${names.join(', ') || 'none'}`,
    done: (machine) => comparableGroups(machine).join('\n') === wanted,
    send: (port, signal) => port.setAffinityGroups(job.node.machineId, names, signal),
  })
}

async function changeStopped(
  machines: Machines,
  job: NodeJob,
  attempt: Attempt,
  act: Pick<MachineAct, 'act' | 'done' | 'send'>,
): Promise<void> {
  await ensureMachine(machines, job, attempt, {
    ...act,
    done: (machine) => machine.operation === null && act.done(machine),
    refusedAs: 'MachineFailed',
    ready: (machine) => machine.operation === null && isOff(job, machine),
  })
}

/** Never live, even where the platform could (CKS-17): a machine somebody started meanwhile is not changed. */
function isOff(job: NodeJob, machine: Machine): boolean {
  if (machine.power === 'running') {
    throw failure(
      'MachineFailed',
      `machine of ${batchNodeName(job.node)} was started by somebody else before it was changed`,
    )
  }
  return machine.power === 'stopped'
}
