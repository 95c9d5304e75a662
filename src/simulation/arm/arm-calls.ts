/** What a request asks of ARM; `other` is what this stand-in does not know. */
export const ARM_CALLS = [
  'listVms',
  'getVm',
  'instanceView',
  'vmSizes',
  'createVm',
  'updateVm',
  'deleteVm',
  'deallocate',
  'powerOff',
  'start',
  'restart',
  'listDisks',
  'getDisk',
  'createDisk',
  'updateDisk',
  'deleteDisk',
  'getPlacementGroup',
  'getAvailabilitySet',
  'availabilitySetSizes',
  'getHostGroup',
  'skus',
  'usages',
  'locationSizes',
  'operation',
  'other',
] as const

export type ArmCallName = (typeof ARM_CALLS)[number]

export interface ArmCall {
  readonly call: ArmCallName
  readonly subscription: string
  /** Null: of the subscription, or not about a resource. */
  readonly resourceGroup: string | null
  readonly name: string
  readonly query: URLSearchParams
}

const PROVIDER = '/providers/microsoft.compute'

/** Path segments below the provider, with `*` for a name. First match counts; methods as ARM has them. */
const RESOURCES: readonly (readonly [method: string, path: string, call: ArmCallName])[] = [
  ['GET', 'virtualmachines', 'listVms'],
  ['GET', 'virtualmachines/*', 'getVm'],
  ['PUT', 'virtualmachines/*', 'createVm'],
  ['PATCH', 'virtualmachines/*', 'updateVm'],
  ['DELETE', 'virtualmachines/*', 'deleteVm'],
  ['GET', 'virtualmachines/*/instanceview', 'instanceView'],
  ['GET', 'virtualmachines/*/vmsizes', 'vmSizes'],
  ['POST', 'virtualmachines/*/deallocate', 'deallocate'],
  ['POST', 'virtualmachines/*/poweroff', 'powerOff'],
  ['POST', 'virtualmachines/*/start', 'start'],
  ['POST', 'virtualmachines/*/restart', 'restart'],
  ['GET', 'disks', 'listDisks'],
  ['GET', 'disks/*', 'getDisk'],
  ['PUT', 'disks/*', 'createDisk'],
  ['PATCH', 'disks/*', 'updateDisk'],
  ['DELETE', 'disks/*', 'deleteDisk'],
  ['GET', 'proximityplacementgroups/*', 'getPlacementGroup'],
  ['GET', 'availabilitysets/*', 'getAvailabilitySet'],
  ['GET', 'availabilitysets/*/vmsizes', 'availabilitySetSizes'],
  ['GET', 'hostgroups/*', 'getHostGroup'],
]

const SUBSCRIPTION: readonly (readonly [path: string, call: ArmCallName])[] = [
  ['skus', 'skus'],
  ['virtualmachines', 'listVms'],
  ['locations/*/usages', 'usages'],
  ['locations/*/vmsizes', 'locationSizes'],
  ['locations/*/operations/*', 'operation'],
  ['locations/*/diskoperations/*', 'operation'],
]

/** Reads method and path the way ARM does: any api-version, any letter case. */
export function parseArmCall(method: string, url: URL): ArmCall {
  const match = /^\/subscriptions\/([^/]+)(?:\/resourcegroups\/([^/]+))?(\/.*)?$/i.exec(url.pathname)
  const [, subscription = '', group, rest = ''] = match ?? []
  const resourceGroup = group === undefined ? null : decodeURIComponent(group)
  const known = { subscription, resourceGroup, query: url.searchParams }
  if (!rest.toLowerCase().startsWith(`${PROVIDER}/`)) return { ...known, call: 'other', name: '' }
  const segments = rest.slice(PROVIDER.length + 1).split('/')
  const found =
    resourceGroup === null
      ? SUBSCRIPTION.find(([path]) => method === 'GET' && fits(path, segments))
      : RESOURCES.find(([verb, path]) => verb === method && fits(path, segments))
  const call = found === undefined ? 'other' : (found[found.length - 1] as ArmCallName)
  const name = resourceGroup === null ? (segments[3] ?? segments[1]) : segments[1]
  return { ...known, call, name: decodeURIComponent(name ?? '') }
}

function fits(path: string, segments: readonly string[]): boolean {
  const pattern = path.split('/')
  return (
    pattern.length === segments.length &&
    pattern.every((part, at) => (part === '*' ? segments[at] !== '' : part === segments[at]?.toLowerCase()))
  )
}
