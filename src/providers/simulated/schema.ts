import { z } from 'zod'

const affinityGroup = z.object({ name: z.string(), explicitDedication: z.boolean() })

/** A machine as the cloud answers it, in the words of our own record. */
export const machineAnswer = z.object({
  id: z.string(),
  cluster: z.string(),
  name: z.string(),
  providerId: z.string(),
  // A word the cloud may learn one day is a state we do not know, not an error.
  power: z.enum(['running', 'stopped', 'starting', 'stopping', 'unknown']).catch('unknown'),
  operation: z.string().nullable(),
  offering: z.string(),
  rootDiskGiB: z.number(),
  rootDiskFixed: z.string().nullable(),
  affinityGroups: z.array(affinityGroup),
  cpu: z.number(),
  memoryMiB: z.number(),
})

/** What runs on a machine goes by its host name. */
export const hostsAnswer = z.object({ machines: z.array(z.object({ id: z.string(), hostname: z.string() })) })

export const machinesAnswer = z.object({ machines: z.array(machineAnswer) })

export const offeringsAnswer = z.object({
  offerings: z.array(z.object({ name: z.string(), cpu: z.number(), memoryMiB: z.number() })),
})

export const affinityGroupsAnswer = z.object({ affinityGroups: z.array(affinityGroup) })

export const clusterAnswer = z.object({ name: z.string(), operation: z.string().nullable() })

/** A changing call: the operation to ask for, or null when there was nothing to do. */
export const acceptedAnswer = z.object({ operation: z.string().nullable() })

export const operationAnswer = z.object({
  id: z.string(),
  state: z.enum(['running', 'done', 'capacity', 'failed']),
  why: z.string().nullable(),
})

export const problemAnswer = z.object({ code: z.string(), message: z.string() })

/** 64-bit numbers are text on both sides of this border. */
const uint64 = z.string().regex(/^\d{1,20}$/)

export const etcdMembersAnswer = z.object({
  members: z.array(
    z.object({ ID: uint64, name: z.string(), isLearner: z.boolean().default(false), machine: z.string() }),
  ),
})

export const etcdHealthAnswer = z.object({ health: z.string(), reason: z.string().default('') })

export const etcdStatusAnswer = z.object({
  header: z.object({ member_id: uint64 }),
  leader: uint64,
  raftAppliedIndex: uint64,
})

export const simulatedOptions = z.strictObject({
  url: z.url({ protocol: /^https?$/ }).describe('where the simulated cloud answers'),
  cluster: z.string().min(1).describe('name of the cluster there'),
})

export type SimulatedOptions = z.infer<typeof simulatedOptions>
