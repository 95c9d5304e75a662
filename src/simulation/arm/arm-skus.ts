/** One entry of `GET /skus`, as on the wire. */
export interface ArmSku {
  readonly resourceType: string
  readonly name: string
  readonly tier?: string
  readonly size?: string
  readonly family?: string
  readonly locations: readonly string[]
  readonly locationInfo?: readonly { readonly location: string; readonly zones?: readonly string[] }[]
  readonly capabilities?: readonly { readonly name: string; readonly value: string }[]
  readonly restrictions?: readonly ArmRestriction[]
}

interface ArmRestriction {
  readonly type: 'Location' | 'Zone'
  readonly values?: readonly string[]
  readonly restrictionInfo?: { readonly locations?: readonly string[]; readonly zones?: readonly string[] }
  readonly reasonCode: string
}

/** The value of a capability; all of them are text. */
export function capability(sku: ArmSku | undefined, name: string): string | undefined {
  return sku?.capabilities?.find((one) => one.name === name)?.value
}

export function coresOf(sku: ArmSku | undefined): number {
  return Number(capability(sku, 'vCPUs') ?? 0)
}

/** Sizes of one family for a cloud nobody recorded: the demo's. */
export function simulatedSkus(location: string): ArmSku[] {
  return [2, 4, 8, 16].flatMap((cores) => [
    simulatedSku(location, `Standard_D${cores}s_v5`, 'standardDSv5Family', cores),
    simulatedSku(location, `Standard_D${cores}as_v5`, 'standardDASv5Family', cores),
  ])
}

function simulatedSku(location: string, name: string, family: string, cores: number): ArmSku {
  const capabilities = {
    vCPUs: cores,
    MemoryGB: cores * 4,
    MaxResourceVolumeMB: 0,
    CpuArchitectureType: 'x64',
    HyperVGenerations: 'V1,V2',
    PremiumIO: 'True',
    MaxDataDiskCount: cores * 2,
    MaxNetworkInterfaces: Math.max(2, Math.min(8, cores / 2)),
  }
  return {
    resourceType: 'virtualMachines',
    name,
    tier: 'Standard',
    size: name.replace('Standard_', ''),
    family,
    locations: [location],
    locationInfo: [{ location, zones: ['1', '2', '3'] }],
    capabilities: Object.entries(capabilities).map(([key, value]) => ({ name: key, value: String(value) })),
    restrictions: [],
  }
}
