/** Azure writes one id in several letter cases: whatever is compared or shown is lower case. */

/** A proximity placement group as a spec names it: by name in the cluster's own resource group, else by its whole id. */
export function groupName(id: string, resourceGroup: string): string {
  const { group, name } = partsOf(id)
  return group === resourceGroup.toLowerCase() ? name : id.toLowerCase()
}

/** The id of what a spec names. */
export function groupId(name: string, { subscriptionId, resourceGroup }: Home): string {
  if (name.startsWith('/')) return name
  return `/subscriptions/${subscriptionId}/resourceGroups/${resourceGroup}/providers/Microsoft.Compute/proximityPlacementGroups/${name}`
}

export interface Home {
  readonly subscriptionId: string
  readonly resourceGroup: string
}

/** Resource group, type and name of a compute resource; of a host in a group, the group's. */
export function partsOf(id: string): { group: string; type: string; name: string } {
  const match = /\/resourcegroups\/([^/]+)\/providers\/microsoft\.compute\/([^/]+)\/([^/]+)/.exec(
    id.toLowerCase(),
  )
  const [, group = '', type = '', name = ''] = match ?? []
  return { group, type, name }
}
