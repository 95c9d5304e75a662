import { z } from 'zod'

/** `name=https://address:port`, one an entry: the name is that of the node, or of the machine that has no node. */
const addresses = z
  .array(z.string().regex(/^[^=\s]+=https?:\/\/[^\s/]+\/?$/, 'expected name=https://address:port'))
  .min(1)
  .refine(
    (list) => new Set(list.map((one) => one.split('=')[0])).size === list.length,
    'names a machine twice',
  )

const file = z.string().min(1)

const apiServers = {
  apiServers: addresses
    .optional()
    .describe(
      'the API server of each control node by the name of the node; default: those of kubeadm’s static pods',
    ),
  apiServerCaFile: file
    .optional()
    .describe('path on the worker of the CA of those API servers; default: the CAs of its system'),
}

const clientCertificate = {
  caFile: file.optional().describe('path on the worker of etcd’s CA; default: the CAs of its system'),
  certFile: file.optional().describe('path on the worker of a client certificate'),
  keyFile: file.optional().describe('path on the worker of its key'),
}

const bothOrNone = (options: { certFile?: string | undefined; keyFile?: string | undefined }) =>
  (options.certFile === undefined) === (options.keyFile === undefined)
const BOTH = { message: 'certFile and keyFile go together', path: ['certFile'] }

/** Asked at its client URLs: member list, status, alarms, and the leader can be moved. */
export const etcdOptions = z
  .strictObject({
    members: addresses
      .optional()
      .describe(
        'client URL of each expected member, by the name of its node or machine; default: those of kubeadm’s static pods',
      ),
    ...clientCertificate,
    ...apiServers,
  })
  .refine(bothOrNone, BOTH)

/** Asked at their metrics URLs (kubeadm: port 2381): health and role of each, but no member list. */
export const etcdMetricsOptions = z
  .strictObject({
    members: addresses
      .optional()
      .describe(
        'metrics URL of each expected member, by the name of its node or machine; default: those of kubeadm’s static pods',
      ),
    ...clientCertificate,
    ...apiServers,
  })
  .refine(bothOrNone, BOTH)

/** Asked through the API server on the same machine, which reads from the member beside it. */
export const etcdApiServerOptions = z.strictObject({
  apiServers: addresses
    .optional()
    .describe(
      'the API server beside each expected member, by the name of the node; default: those of kubeadm’s static pods',
    ),
  apiServerCaFile: apiServers.apiServerCaFile,
})

export interface Address {
  readonly name: string
  /** Without a slash at its end. */
  readonly url: string
}

/** etcd's gateway writes 64-bit numbers as text and leaves out what is zero, empty or false. */
const uint64 = z.string().regex(/^\d{1,20}$/)

export const memberListAnswer = z.object({
  members: z.array(
    z.object({
      ID: uint64,
      // Empty while a member that was added has never started.
      name: z.string().default(''),
      isLearner: z.boolean().default(false),
      clientURLs: z.array(z.string()).default([]),
    }),
  ),
})

export const statusAnswer = z.object({
  header: z.object({ member_id: uint64 }),
  leader: uint64.default('0'),
  raftAppliedIndex: uint64.default('0'),
  isLearner: z.boolean().default(false),
})

export const alarmsAnswer = z.object({
  alarms: z.array(z.object({ memberID: uint64.default('0'), alarm: z.string().default('NONE') })).default([]),
})

export const healthAnswer = z.object({ health: z.string(), reason: z.string().default('') })
