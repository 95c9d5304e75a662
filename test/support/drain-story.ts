import { evictions } from './batch-pods.js'
import type { RolloutBed } from './rollout-bed.js'
import { waitUntil } from './wait.js'

/** Only w-1 is left to be rolled to `large`. */
export function onlyW1OutOfDate(bed: RolloutBed): void {
  for (const { name } of bed.cluster.machines) {
    if (name !== 'w-1') bed.cluster.cloud.machine(name).offering = 'large'
  }
}

/** When the cloud was asked to stop a machine. */
export function stoppedAt(bed: RolloutBed, name: string): number | undefined {
  return bed.cluster.cloud.log.acts().find(({ call, machine }) => call === 'stop' && machine === name)?.at
}

export async function untilEvictionOf(bed: RolloutBed, app: string, since: number): Promise<void> {
  await waitUntil(async () => (await evictions(bed.kube, since)).some(({ name }) => name.startsWith(app)), {
    for: `an eviction of ${app}`,
  })
}

/** When the kubelet said that a pod's containers had ended. */
export async function goneAt(bed: RolloutBed, since: number, podName: string | undefined): Promise<number> {
  await bed.kube.audit.settled()
  const deletions = await bed.kube.audit.since(since, { user: 'kubelet', verb: 'delete', resource: 'pods' })
  return deletions.find(({ name }) => name === podName)?.time ?? Number.NaN
}
