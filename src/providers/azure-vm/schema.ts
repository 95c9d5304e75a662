import { z } from 'zod'

const reference = z.object({ id: z.string().nullish() }).nullish()
const managedDisk = z.object({ id: z.string().nullish(), storageAccountType: z.string().nullish() }).nullish()

/** As much of a VM as noderoll looks at, in the client's (flattened) words. */
export const vmAnswer = z.object({
  id: z.string(),
  name: z.string(),
  location: z.string(),
  zones: z.array(z.string()).nullish(),
  tags: z.record(z.string(), z.string()).nullish(),
  etag: z.string().nullish(),
  provisioningState: z.string().nullish(),
  priority: z.string().nullish(),
  hardwareProfile: z.object({ vmSize: z.string() }),
  storageProfile: z.object({
    diskControllerType: z.string().nullish(),
    osDisk: z.object({
      name: z.string().nullish(),
      diskSizeGB: z.number().nullish(),
      managedDisk,
      diffDiskSettings: z.object({ option: z.string().nullish() }).nullish(),
    }),
    dataDisks: z.array(z.object({ name: z.string().nullish(), managedDisk })).nullish(),
  }),
  networkProfile: z.object({ networkInterfaces: z.array(z.unknown()).nullish() }).nullish(),
  proximityPlacementGroup: reference,
  availabilitySet: reference,
  host: reference,
  hostGroup: reference,
  instanceView: z
    .object({
      hyperVGeneration: z.string().nullish(),
      statuses: z.array(z.object({ code: z.string().nullish() })).nullish(),
    })
    .nullish(),
})

export type AzureVm = z.output<typeof vmAnswer>

export const diskAnswer = z.object({
  id: z.string(),
  name: z.string(),
  diskSizeGB: z.number().nullish(),
  provisioningState: z.string().nullish(),
  sku: z.object({ name: z.string().nullish() }).nullish(),
})

export type AzureDisk = z.output<typeof diskAnswer>

export const skuAnswer = z.object({
  name: z.string(),
  resourceType: z.string(),
  family: z.string().nullish(),
  locationInfo: z
    .array(z.object({ location: z.string().nullish(), zones: z.array(z.string()).nullish() }))
    .nullish(),
  capabilities: z.array(z.object({ name: z.string().nullish(), value: z.string().nullish() })).nullish(),
  restrictions: z
    .array(
      z.object({
        type: z.string().nullish(),
        reasonCode: z.string().nullish(),
        restrictionInfo: z
          .object({ locations: z.array(z.string()).nullish(), zones: z.array(z.string()).nullish() })
          .nullish(),
      }),
    )
    .nullish(),
})

export const usageAnswer = z.object({
  currentValue: z.number(),
  limit: z.number(),
  name: z.object({ value: z.string().nullish() }),
})

/** What an operation's URL answers. Any word that is not one of the three terminal ones means that it runs. */
export const operationAnswer = z.object({
  status: z.string(),
  error: z.object({ code: z.string().nullish(), message: z.string().nullish() }).nullish(),
})
