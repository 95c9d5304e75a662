import { z } from 'zod'

/** What a spec says about Azure: references only. Endpoint, CA and identity are the worker's (`environment.ts`). */
export const azureVmOptions = z.strictObject({
  subscriptionId: z.guid('expected the id of a subscription').describe('id of the subscription'),
  resourceGroup: z.string().min(1).max(90).describe('the group that holds the VMs of the cluster'),
  tag: z
    .string()
    .regex(/^[^=]+=.*$/, 'expected name=value')
    .optional()
    .describe('only VMs with this tag are machines of the cluster'),
  allowTempDiskChange: z
    .boolean()
    .default(false)
    .describe('do not refuse sizes that add or lack a local temp disk'),
})

export type AzureVmOptions = z.output<typeof azureVmOptions>
