import { type ArmAnswer, answer, groupNotFound, notFound } from './arm-answer.js'
import type { ArmBodies } from './arm-bodies.js'
import type { ArmCall } from './arm-calls.js'
import type { ArmSettings } from './arm-settings.js'
import { coresInUse, isAllocated, limitOf, skuOf, vmSkus } from './arm-size-rules.js'
import { type ArmSku, capability, coresOf } from './arm-skus.js'
import { type ArmNamed, type ArmState, keyOf } from './arm-state.js'

/** Answers every GET but those of operations; null for a call that is none. */
export function answerRead(
  settings: ArmSettings,
  state: ArmState,
  bodies: ArmBodies,
  call: ArmCall,
): ArmAnswer | null {
  const group = call.resourceGroup
  if (group !== null && !state.resourceGroups.some((one) => one.toLowerCase() === group.toLowerCase()))
    return groupNotFound(group)
  const key = keyOf(group ?? '', call.name)
  const one = <T extends ArmNamed>(type: string, of: Record<string, T>, write: (found: T) => ArmAnswer) => {
    const found = of[key]
    return found === undefined ? notFound(type, call.name, group ?? '') : write(found)
  }
  const expand = call.query.get('$expand')?.toLowerCase() === 'instanceview'
  const inGroup = ({ resourceGroup }: ArmNamed) =>
    group === null || resourceGroup.toLowerCase() === group.toLowerCase()
  const list = (items: readonly object[]) => answer(200, { value: items })

  switch (call.call) {
    case 'listVms': {
      const vms = Object.values(state.vms).filter(inGroup)
      return list(vms.map((vm) => bodies.vm(vm, expand || call.query.get('statusOnly') === 'true')))
    }
    case 'getVm':
      return one('virtualMachines', state.vms, (vm) =>
        answer(200, bodies.vm(vm, expand), { etag: `"${vm.etag}"` }),
      )
    case 'instanceView':
      return one('virtualMachines', state.vms, (vm) => answer(200, bodies.instanceView(vm)))
    case 'vmSizes':
      return one('virtualMachines', state.vms, (vm) => {
        const { clusterSizes } = settings
        const possible = (sku: ArmSku) =>
          clusterSizes === null || !isAllocated(vm) || clusterSizes.includes(sku.name)
        return list(vmSkus(settings).filter(possible).map(sizeBody))
      })
    case 'listDisks':
      return list(
        Object.values(state.disks)
          .filter(inGroup)
          .map((disk) => bodies.disk(disk)),
      )
    case 'getDisk':
      return one('disks', state.disks, (disk) => answer(200, bodies.disk(disk)))
    case 'getPlacementGroup':
      return one('proximityPlacementGroups', state.placementGroups, (found) => {
        const { intentSizes } = found
        const intent = intentSizes.length === 0 ? {} : { intent: { vmSizes: intentSizes } }
        return answer(
          200,
          bodies.named('proximityPlacementGroups', found, {
            proximityPlacementGroupType: 'Standard',
            ...intent,
          }),
        )
      })
    case 'getAvailabilitySet':
      return one('availabilitySets', state.availabilitySets, (set) =>
        answer(200, bodies.availabilitySet(set)),
      )
    case 'availabilitySetSizes':
      return one('availabilitySets', state.availabilitySets, (set) =>
        list(set.sizes.flatMap((size) => skuOf(settings, size) ?? []).map(sizeBody)),
      )
    case 'getHostGroup':
      return one('hostGroups', state.hostGroups, (found) =>
        answer(200, bodies.named('hostGroups', found, { platformFaultDomainCount: 1 })),
      )
    case 'skus':
      return list(skusOf(settings, call.query.get('$filter')))
    case 'usages':
      return list(usages(settings, state))
    case 'locationSizes':
      return list(vmSkus(settings).map(sizeBody))
    default:
      return null
  }
}

/** Only `location eq '…'` is supported as a filter. */
function skusOf(settings: ArmSettings, filter: string | null): readonly ArmSku[] {
  const location = /^location eq '([^']+)'$/.exec(filter ?? '')?.[1]?.toLowerCase()
  if (location === undefined) return settings.skus
  return settings.skus.filter((sku) => sku.locations.some((one) => one.toLowerCase() === location))
}

function usages(settings: ArmSettings, state: ArmState): object[] {
  const used = coresInUse(settings, state)
  const families = [...new Set(vmSkus(settings).flatMap(({ family }) => family ?? []))]
  const usage = (name: string, localizedValue: string) => ({
    limit: limitOf(settings, name),
    unit: 'Count',
    currentValue: used.get(name.toLowerCase()) ?? 0,
    name: { value: name, localizedValue },
  })
  return [
    usage('cores', 'Total Regional vCPUs'),
    usage('lowPriorityCores', 'Total Regional Low-priority vCPUs'),
    ...families.map((family) => usage(family, `${family} vCPUs`)),
  ]
}

function sizeBody(sku: ArmSku): object {
  return {
    name: sku.name,
    numberOfCores: coresOf(sku),
    osDiskSizeInMB: 1_047_552,
    resourceDiskSizeInMB: Number(capability(sku, 'MaxResourceVolumeMB') ?? 0),
    memoryInMB: Math.round(Number(capability(sku, 'MemoryGB') ?? 0) * 1024),
    maxDataDiskCount: Number(capability(sku, 'MaxDataDiskCount') ?? 0),
  }
}
