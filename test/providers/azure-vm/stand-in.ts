import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import type { AzureEnvironment } from '../../../src/providers/azure-vm/environment.js'
import { AzureVmMachines } from '../../../src/providers/azure-vm/machines.js'
import { azureVmOptions } from '../../../src/providers/azure-vm/options.js'
import { ArmCloud, type ArmCloudOptions } from '../../../src/simulation/arm/arm-cloud.js'
import type { ArmLog } from '../../../src/simulation/arm/arm-log.js'
import type { ArmSku } from '../../../src/simulation/arm/arm-skus.js'
import type { NewVm } from '../../../src/simulation/arm/new-vm.js'
import { trafficFaults } from '../../simulation/arm/oav.js'
import { atEndOfFile } from '../../support/file-checks.js'

export const GROUP = 'rg-nodes'
export const REGION = 'southcentralus'

/** Recorded sizes of two regions, as on the wire: `_origin` is the recorder's. */
export const SKUS: readonly ArmSku[] = JSON.parse(
  readFileSync(new URL('../../fixtures/azure/resource-skus.json', import.meta.url), 'utf8'),
).value.map(({ _origin, ...sku }: ArmSku & { _origin: unknown }) => sku)

const logs: ArmLog[] = []

/** All that a test file sends to a stand-in, and all it answers, is held to the description of the service at the end. */
export function watchTraffic(arm: ArmCloud): void {
  logs.push(arm.log)
}

atEndOfFile(async () => {
  const traffic = logs.splice(0).flatMap((log) => log.all())
  expect(await trafficFaults(traffic)).toEqual([])
})

/** A stand-in in the region most sizes were recorded in. Its identity endpoint becomes this process's. */
export async function startArm(options: ArmCloudOptions = {}): Promise<ArmCloud> {
  const arm = new ArmCloud({ location: REGION, skus: SKUS, ...options })
  watchTraffic(arm)
  await arm.start()
  Object.assign(process.env, arm.identityEnvironment, {
    AZURE_TOKEN_CREDENTIALS: 'ManagedIdentityCredential',
  })
  return arm
}

export function addVm(arm: ArmCloud, name: string, changes: Partial<NewVm> = {}) {
  return arm.addVm({ name, resourceGroup: GROUP, size: 'Standard_D2s_v3', osDiskGiB: 64, ...changes })
}

/** The provider as a worker makes it, but for where its settings come from. */
export function machinesOn(
  arm: ArmCloud,
  options: Record<string, unknown> = {},
  environment: Partial<AzureEnvironment> = {},
): AzureVmMachines {
  const { subscriptionId } = arm.settings
  return new AzureVmMachines(azureVmOptions.parse({ subscriptionId, resourceGroup: GROUP, ...options }), {
    endpoint: arm.url,
    scope: null,
    ca: [arm.ca],
    requestsPerSecond: 10_000,
    ...environment,
  })
}
