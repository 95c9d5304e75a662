import type { z } from 'zod'
import type { skuAnswer } from './schema.js'

/** One VM size in one region, in words that can be compared. */
export interface Size {
  readonly name: string
  readonly family: string
  /** What a machine of it has; of a constrained size fewer than are paid for. */
  readonly cpu: number
  /** What the quota counts. */
  readonly cores: number
  readonly memoryMiB: number
  readonly tempDisk: boolean
  readonly architecture: string
  readonly generations: readonly string[]
  readonly diskControllers: readonly string[]
  readonly premiumDisks: boolean
  readonly mostDataDisks: number
  readonly mostNetworkInterfaces: number
  /** Zones it is offered in; empty where the region has none. */
  readonly zones: readonly string[]
  /** Why it cannot be had in the region at all, or null. */
  readonly restricted: string | null
  readonly restrictedZones: readonly string[]
}

/** Reads one SKU as the region answers it; every capability is text. */
export function sizeOf(sku: z.output<typeof skuAnswer>, location: string): Size {
  const capability = (name: string) => sku.capabilities?.find((one) => one.name === name)?.value ?? null
  const number = (name: string) => Number(capability(name) ?? 0)
  const here = (locations: readonly string[] | null | undefined) =>
    (locations ?? []).some((one) => one.toLowerCase() === location.toLowerCase())
  const restrictions = (sku.restrictions ?? []).filter((one) => here(one.restrictionInfo?.locations))
  const inRegion = restrictions.find((one) => one.type === 'Location')
  return {
    name: sku.name,
    family: sku.family ?? '',
    cpu: number('vCPUsAvailable') || number('vCPUs'),
    cores: number('vCPUs'),
    memoryMiB: Math.round(number('MemoryGB') * 1024),
    tempDisk: number('MaxResourceVolumeMB') > 0,
    architecture: capability('CpuArchitectureType') ?? 'x64',
    generations: listOf(capability('HyperVGenerations') ?? 'V1'),
    diskControllers: listOf(capability('DiskControllerTypes') ?? 'SCSI'),
    premiumDisks: capability('PremiumIO') === 'True',
    mostDataDisks: number('MaxDataDiskCount'),
    mostNetworkInterfaces: number('MaxNetworkInterfaces'),
    zones: sku.locationInfo?.find((one) => here([one.location ?? '']))?.zones ?? [],
    restricted: inRegion === undefined ? null : (inRegion.reasonCode ?? 'restricted'),
    restrictedZones: restrictions.flatMap((one) =>
      one.type === 'Zone' ? (one.restrictionInfo?.zones ?? []) : [],
    ),
  }
}

function listOf(text: string): string[] {
  return text.split(',').map((one) => one.trim())
}
