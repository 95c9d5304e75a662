import { evictions } from './batch-pods.js'
import { CLUSTER, type RolloutBed } from './rollout-bed.js'
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

/**
 * Once, when the first step that would act on this machine looks at it: the drains of its batch, the first one, have ended.
 * The step that cordons looks as well, in every attempt.
 */
export function atLookOfAct(
  bed: RolloutBed,
  machine: string,
  happens: () => unknown,
  at: 'arrival' | 'answer' = 'answer',
): void {
  let happened = false
  bed.cluster.cloud.onRequest(
    { call: 'get', machine },
    async () => {
      if (happened || !(await anActIsAskedFor(bed))) return
      happened = true
      await happens()
    },
    at,
  )
}

async function anActIsAskedFor(bed: RolloutBed): Promise<boolean> {
  const { events } = await bed.client.workflow.getHandle(`cluster-rollout/${CLUSTER}`).fetchHistory()
  const types = (events ?? []).map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name)
  return types.some((type) => /^(stop|resize|start)Machine$/.test(type ?? ''))
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
