import { z } from 'zod'
import { drain } from './drain.js'
import { clusterName, duration, kubernetes, maxUnavailable, providerOptions } from './fields.js'

const offerings = z
  .union(
    [z.string().min(1), z.array(z.string().min(1)).min(1)],
    'expected the name of an offering, or a list of names in order of preference',
  )
  .describe('VM size or offering; a list is in order of preference, any of them is up to date')

const select = z
  .strictObject({
    labels: z
      .record(z.string().min(1), z.string())
      .refine((labels) => Object.keys(labels).length > 0, 'names no label: that would be every node')
      .optional()
      .describe('labels the nodes of the pool carry'),
    machines: z.array(z.string().min(1)).min(1).optional().describe('names of machines; for external etcd'),
  })
  .refine((value) => (value.labels === undefined) !== (value.machines === undefined), {
    message: 'give either labels or machines',
  })

export const poolSchema = z.strictObject({
  type: z
    .enum(['control', 'worker', 'etcd'])
    .optional()
    .describe('needed unless the pool is called control, worker or etcd'),
  select: select.optional(),
  offering: offerings.optional(),
  rootDiskGiB: z.int('expected a whole number of GiB').min(1).optional(),
  affinityGroups: z
    .array(z.string().min(1))
    .refine((names) => new Set(names).size === names.length, 'names a group twice')
    .optional(),
  maxUnavailable: maxUnavailable.optional(),
})

/** How a cluster is reached; the part of a spec that `releaseCluster` and `clusterStatus` take too. */
const targetShape = {
  cluster: clusterName.describe('name of the cluster'),
  kubernetes: kubernetes.describe('how the worker reaches the cluster'),
  machines: providerOptions.describe('who runs the machines, with the provider’s own options'),
  etcd: providerOptions
    .optional()
    .describe('how to ask etcd and the API servers; needed for control and etcd pools'),
}

/** The request of `clusterRollout` and `planRollout`, as a person writes it. */
export const rolloutSchema = z.strictObject({
  ...targetShape,
  pools: z
    .record(z.string().min(1), poolSchema)
    .default({})
    .describe('pools by name; one not named keeps its stored settings'),
  rollout: z.boolean().default(false).describe('false: store the settings only'),
  startStopped: z.boolean().default(true).describe('start machines that somebody stopped'),
  selfHosted: z
    .boolean()
    .default(false)
    .describe('true: the cluster may be rolled although noderoll’s only worker, or Temporal, runs in it'),
  drain: drain.prefault({}),
  preflight: z
    .strictObject({ timeout: duration(1).default(600), tolerateUnready: z.int().min(0).default(0) })
    .prefault({}),
  verify: z
    .strictObject({
      timeout: duration(1).default(900).describe('a node that is not back by then has failed'),
      settle: duration(0)
        .default(5)
        .describe('time between the two good looks that make a node count as back'),
      criticalPods: z
        .enum(['wait', 'ignore'])
        .default('wait')
        .describe('wait: its static pods and those of the system-* priority classes have to be Ready, too'),
    })
    .prefault({}),
  batchTimeout: duration(1).default(1800),
  changeReserve: duration(1)
    .default(600)
    .describe('no machine is stopped with less than this left of the batch'),
  machineTimeout: duration(1).default(900).describe('budget of each machine step: stop, change, start'),
  releaseTimeout: duration(1).default(86_400).describe('how long release keeps trying'),
})

export type RolloutRequest = z.input<typeof rolloutSchema>
export type CheckedRequest = z.output<typeof rolloutSchema>

/** The request of `releaseCluster` and `clusterStatus`. */
export const targetSchema = z.strictObject({
  ...targetShape,
  takeOver: z.string().min(1).optional().describe('the holder as ClusterBusy printed it'),
  page: z.int().min(0).default(0),
})

/** The target in whatever request. */
export const targetInSchema = z.object(targetShape)

/** The JSON Schema of a spec file. */
export function rolloutJsonSchema(): object {
  return z.toJSONSchema(rolloutSchema, { io: 'input' })
}
