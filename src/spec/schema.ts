import { z } from 'zod'
import { drain } from './drain.js'
import { clusterName, duration, kubernetes, maxUnavailable, providerOptions } from './fields.js'
import { writtenJsonSchema } from './json-schema.js'

const offerings = z
  .union(
    [z.string().min(1), z.array(z.string().min(1)).min(1)],
    'expected the name of an offering, or a list of names in order of preference',
  )
  .describe(
    'VM size or offering; a list is in order of preference, and a machine with any of them is up to date',
  )

const select = z
  .strictObject({
    labels: z
      .record(z.string().min(1), z.string())
      .refine((labels) => Object.keys(labels).length > 0, 'names no label: that would be every node')
      .optional()
      .describe('labels that every node of the pool carries, and no other node'),
    machines: z
      .array(z.string().min(1))
      .min(1)
      .optional()
      .describe('names of machines, which have no Node: for external etcd only'),
  })
  .refine((value) => (value.labels === undefined) !== (value.machines === undefined), {
    message: 'give either labels or machines',
  })
  .describe(
    'how the members of the pool are found: either labels or machines. Without it a control pool is every control-plane node, and the pool worker all others',
  )

export const poolSchema = z.strictObject({
  type: z
    .enum(['control', 'worker', 'etcd'])
    .optional()
    .describe('what the machines are; needed unless the pool is called control, worker or etcd'),
  select: select.optional(),
  offering: offerings.optional(),
  rootDiskGiB: z
    .int('expected a whole number of GiB')
    .min(1)
    .optional()
    .describe('least size of the root disk in GiB; a larger one is left as it is, because disks only grow'),
  affinityGroups: z
    .array(z.string().min(1))
    .refine((names) => new Set(names).size === names.length, 'names a group twice')
    .optional()
    .describe('names of the affinity groups that each machine is to be in; an empty list leaves them alone'),
  maxUnavailable: maxUnavailable
    .optional()
    .describe(
      'how many workers may be down at once, for worker pools: 2, or "25%" of the pool’s machines, rounded down but at least 1. Without it: 1',
    ),
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
    .describe(
      'pools by name, with what is asked of them; a pool or property that is not named keeps its stored setting',
    ),
  rollout: z
    .boolean()
    .default(false)
    .describe('true rolls what is out of date; false only stores the settings'),
  startStopped: z
    .boolean()
    .default(true)
    .describe('bring machines that somebody stopped up to date too, and start them; false leaves them alone'),
  selfHosted: z
    .boolean()
    .default(false)
    .describe('true: the cluster may be rolled although noderoll’s only worker, or Temporal, runs in it'),
  drain: drain.prefault({}).describe('how nodes are drained; docs/drain.md explains every policy'),
  preflight: z
    .strictObject({
      timeout: duration(1)
        .default(600)
        .describe('how long a batch waits for everything outside it to be in order'),
      tolerateUnready: z
        .int()
        .min(0)
        .default(0)
        .describe('workers elsewhere that may be not ready without holding up a batch'),
    })
    .prefault({})
    .describe('what has to be in order outside a batch before it begins'),
  verify: z
    .strictObject({
      timeout: duration(1).default(900).describe('how long a node has to come back, once its machine runs'),
      settle: duration(0)
        .default(5)
        .describe('time between the two good looks that end a verify; 0: one look is enough'),
      criticalPods: z
        .enum(['wait', 'ignore'])
        .default('wait')
        .describe('wait: its static pods and those of the system-* priority classes have to be Ready, too'),
    })
    .prefault({})
    .describe('when a node is back in service'),
  batchTimeout: duration(1)
    .default(1800)
    .describe('limit of a batch up to its first stop; at least drain.timeout and changeReserve together'),
  changeReserve: duration(1)
    .default(600)
    .describe('no machine is stopped with less than this left of batchTimeout'),
  machineTimeout: duration(1)
    .default(900)
    .describe('budget of each machine step: stop, change, start; not cut by batchTimeout'),
  releaseTimeout: duration(1)
    .default(86_400)
    .describe('how long the end of a rollout keeps trying to write its result and to free the Lease'),
})

export type RolloutRequest = z.input<typeof rolloutSchema>
export type CheckedRequest = z.output<typeof rolloutSchema>

/** The request of `releaseCluster` and `clusterStatus`. */
export const targetSchema = z.strictObject({
  ...targetShape,
  takeOver: z
    .string()
    .min(1)
    .optional()
    .describe('releaseCluster only: the holder to take the cluster from, as ClusterBusy printed it'),
  page: z.int().min(0).default(0).describe('clusterStatus only: which page of the nodes, from 0'),
})

/** The target in whatever request. */
export const targetInSchema = z.object(targetShape)

/** The JSON Schema of a spec file. */
export function rolloutJsonSchema(): object {
  return writtenJsonSchema(rolloutSchema)
}
