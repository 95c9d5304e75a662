import { type Client, Connection, type WorkflowHandle } from '@temporalio/client'
import type { PoolSettings } from '../../src/core/model.js'
import type { RolloutRequest } from '../../src/spec/schema.js'
import type { AuditRecord } from './audit.js'
import { CLUSTER, type RolloutBed } from './rollout-bed.js'
import { timeSkippingInterceptor } from './time-skipping.js'
import { waitUntil } from './wait.js'

/** Two pools of workers, told apart by a label. */
export const A = { select: { labels: { pool: 'a' } }, type: 'worker' } as const
export const B = { select: { labels: { pool: 'b' } }, type: 'worker' } as const

/** The settings each pool has in the ConfigMap. */
export async function storedSettings(bed: RolloutBed): Promise<Record<string, PoolSettings>> {
  const pools = JSON.parse((await bed.record())?.pools ?? '{}') as Record<string, { settings: PoolSettings }>
  return Object.fromEntries(Object.entries(pools).map(([name, pool]) => [name, pool.settings]))
}

/** Everything noderoll wrote to the API server since then, as `patch nodes w-1`. */
export async function writesSince(bed: RolloutBed, position: number): Promise<string[]> {
  await bed.kube.audit.settled()
  return (await bed.kube.audit.writes(position, 'noderoll')).map(sayWrite)
}

/** Of those, what went to Node objects. */
export async function nodeWritesSince(bed: RolloutBed, position: number): Promise<string[]> {
  return (await writesSince(bed, position)).filter((write) => write.includes(' nodes '))
}

function sayWrite({ verb, resource, subresource, name }: AuditRecord): string {
  return `${verb} ${resource}${subresource === '' ? '' : `/${subresource}`} ${name}`
}

/** A rollout that holds the cluster and does nothing: paused before its first batch. */
export async function pausedRollout(
  bed: RolloutBed,
  changes: Partial<RolloutRequest>,
  workflowId = `cluster-rollout/${CLUSTER}`,
): Promise<WorkflowHandle> {
  const handle = await bed.client.workflow.signalWithStart('clusterRollout', {
    taskQueue: bed.taskQueue,
    workflowId,
    args: [bed.spec(changes)],
    signal: 'pause',
    signalArgs: [],
  })
  await waitUntil(async () => ((await handle.query('progress')) as { phase: string }).phase === 'paused', {
    for: 'the rollout to be paused',
  })
  return handle
}

/** The kubelets of these nodes say from now on that they are not ready; resolves when the API server has it. */
export async function makeNotReady(bed: RolloutBed, ...names: string[]): Promise<void> {
  for (const name of names) bed.cluster.kubelets.script(name, { neverReady: true })
  await Promise.all(names.map((name) => untilNotReady(bed, name)))
}

export async function untilNotReady(bed: RolloutBed, name: string): Promise<void> {
  await waitUntil(
    async () => {
      const { status } = await bed.node(name)
      return status.conditions.some((one) => one.type === 'Ready' && one.status !== 'True')
    },
    { for: `${name} to be NotReady` },
  )
}

/** For workflows whose timers and retry pauses are to cost nothing. */
export async function skippingClient(bed: RolloutBed): Promise<Client> {
  const connection = await Connection.connect({
    address: bed.address,
    interceptors: [timeSkippingInterceptor],
  })
  return bed.workflows.client(connection, bed.namespace)
}
