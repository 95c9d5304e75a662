import { readFileSync } from 'node:fs'

export interface Interaction {
  readonly request: {
    readonly method: string
    readonly path: string
    readonly headers?: Record<string, string>
    readonly body?: unknown
  }
  readonly response: {
    readonly status: number
    readonly headers: Record<string, string>
    readonly body?: unknown
  }
}

/** Calls and answers of real Azure, in order; test/fixtures/azure/README.md says where they come from. */
export function recording(name: string): Interaction[] {
  const file = new URL(`../../fixtures/azure/${name}.json`, import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')).interactions
}

/** Keys of the first two levels, `properties.vmId` and the like; of a list, those of its items. */
export function keysOf(body: unknown): string[] {
  const object = fields(body)
  if (Array.isArray(object.value))
    return [...new Set(['value', ...object.value.flatMap(keysOf).map((key) => `value.${key}`)])]
  return Object.entries(object).flatMap(([key, value]) =>
    ['properties', 'error', 'sku'].includes(key)
      ? [key, ...Object.keys(fields(value)).map((one) => `${key}.${one}`)]
      : [key],
  )
}

export function fields(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/** What only some VMs and disks have, as the recordings show: tags, an identity, extensions, a later api-version. */
export const SOMETIMES = new Set(
  [
    ...[
      'tags',
      'identity',
      'resources',
      'etag',
      'zones',
      'managedBy',
      'id',
      'type',
      'sku',
      'sku.name',
      'sku.tier',
    ],
    ...['timeCreated', 'encryption', 'networkAccessPolicy', 'tier', 'osType', 'hyperVGeneration'].map(
      (key) => `properties.${key}`,
    ),
    ...[
      'diagnosticsProfile',
      'osState',
      'faultDomain',
      'publicNetworkAccess',
      'burstingEnabled',
      'maxShares',
    ].map((key) => `properties.${key}`),
    ...['extensions', 'computerName', 'osName', 'osVersion', 'vmAgent', 'error.target'],
    'properties.diskIOPSReadWrite',
    'properties.diskMBpsReadWrite',
    // The first answer to a write of a disk: full since 2025, before that hardly more than what was asked.
    ...['isArmResource', 'diskSizeBytes', 'diskState', 'uniqueId'].map((key) => `properties.${key}`),
  ].flatMap((key) => [key, `value.${key}`]),
)
