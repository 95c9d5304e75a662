import { execFile } from 'node:child_process'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { ArmCloud } from '../../../src/simulation/arm/arm-cloud.js'
import { restart } from '../../../src/workflows/strategies/restart.js'
import { CODES } from '../../providers/azure-vm/error-codes.js'
import { jobFor, runner, SPEC, steps, worldOf } from '../../providers/azure-vm/saga.js'
import { addVm, GROUP, machinesOn, REGION, startArm } from '../../providers/azure-vm/stand-in.js'
import { signal, theMachine } from '../../providers/machines-contract.js'
import { type Exchange, exchangeOf, faultsOf, isDescribed, validatorIn } from './oav.js'
import { fields, recording } from './recordings.js'
import { installOav, installPythonClient } from './tools.js'

vi.mock('../../../src/workflows/steps.js', async () => {
  const { stepHere } = await import('../../providers/azure-vm/saga.js')
  return { SLACK_SECONDS: 120, SHORT_SECONDS: 300, step: stepHere }
})

describe('the ARM stand-in held to Microsoft’s own tools', () => {
  let arm: ArmCloud

  afterEach(() => arm?.close())

  it('every request of the provider and every answer passes the OpenAPI description of the service', async (context) => {
    const folder = await installOav()
    if (typeof folder !== 'string') return context.skip(folder.missing)
    const validator = await validatorIn(folder)

    // Proof that it refuses: 37 of 39 recorded exchanges pass, and a wrong type does not.
    const recorded = recordedExchanges()
    const verdicts = await Promise.all(recorded.map((one) => faultsOf(validator, one)))
    expect(verdicts.filter((faults) => faults.length === 0).length).toBeGreaterThan(recorded.length * 0.9)
    const [spoiled] = recorded.filter(
      ({ answerBody }) => fields(answerBody).vmId !== undefined || fields(answerBody).name,
    )
    if (spoiled === undefined) throw new Error('no recorded VM')
    expect(
      await faultsOf(validator, { ...spoiled, answerBody: { ...fields(spoiled.answerBody), location: 7 } }),
    ).not.toEqual([])

    await traffic()
    const described = arm.log.all().filter(isDescribed)
    const faults = await Promise.all(described.map((one) => faultsOf(validator, exchangeOf(one))))
    expect(faults.flat()).toEqual([])
    expect(described.length).toBeGreaterThan(300)
    expect(new Set(described.map(({ call }) => call))).toEqual(
      new Set(['listVms', 'getVm', 'deallocate', 'updateVm', 'start', 'usages']),
    )
  }, 180_000)

  /** All that the provider ever asks, on VMs of every kind, and every error at the start. */
  async function traffic(): Promise<void> {
    arm = await startArm()
    const placementGroup = arm.addPlacementGroup({ resourceGroup: GROUP, name: 'ppg-a' })
    const availabilitySet = arm.addAvailabilitySet({ resourceGroup: GROUP, name: 'set-1' })
    const hostGroup = arm.addHostGroup({ resourceGroup: GROUP, name: 'reserved' })
    const kinds = [
      { placementGroup, zone: '1', dataDisks: ['Premium_LRS'] },
      { availabilitySet, hostGroup, priority: 'Spot' as const },
      { ephemeral: true, power: 'deallocated' as const },
      { size: 'Standard_D2as_v6', diskController: 'NVMe' as const, power: 'stopped' as const },
    ]
    for (const [at, kind] of kinds.entries()) addVm(arm, `k-${at}`, kind)
    const machines = machinesOn(arm)
    const wants = { offering: 'Standard_D4s_v3', rootDiskGiB: 100, affinityGroups: ['ppg-a'] }
    for (const machine of await machines.list(signal())) {
      await machines.refusals(machine, wants, signal())
      await machines.together([{ machine, type: 'worker', wants }], signal())
    }
    for (const [at, { effect, where }] of CODES.entries()) {
      const name = `w-${at}`
      addVm(arm, name)
      arm.faults.add({ vm: name, call: where === 'poll' ? 'operation' : 'start', count: 1, effect })
      steps.run = runner(worldOf(machines))
      const context = {
        spec: SPEC,
        enter: () => undefined,
        secondsToBegin: () => 60,
        mayBegin: () => true,
        drainAgain: async () => undefined,
      }
      const job = jobFor(await theMachine(machines, name), { ...wants, offerings: [wants.offering] })
      const acted = await restart.act(job, context)
      if (acted.kind === 'failed') await restart.settle(job, context)
      arm.faults.clear()
    }
  }

  it('Microsoft’s Python client rolls a VM on it', async (context) => {
    const folder = await installPythonClient()
    if (typeof folder !== 'string') return context.skip(folder.missing)
    arm = await startArm({ pageSize: 5 })
    addVm(arm, 'w-1')
    const caFile = join(await mkdtemp(join(tmpdir(), 'noderoll-arm-')), 'ca.pem')
    await writeFile(caFile, arm.ca)
    const script = fileURLToPath(new URL('./python_client.py', import.meta.url))
    const args = [arm.url, caFile, arm.settings.subscriptionId, GROUP, REGION, 'w-1', 'Standard_D4s_v3']

    const { stdout } = await promisify(execFile)('python3', [script, ...args], {
      env: { ...process.env, PYTHONPATH: folder },
    })

    expect(JSON.parse(stdout)).toEqual({
      listed: ['w-1'],
      powers: ['PowerState/running', 'PowerState/deallocated', 'PowerState/running'],
      possible: true,
      size: 'Standard_D4s_v3',
      disk: 200,
      skus: 12,
      cores: 4,
      error: 'ResourceNotFound',
    })
    expect(arm.log.acts()).toEqual(['deallocate w-1', 'updateVm w-1', 'updateDisk w-1', 'start w-1'])
  }, 180_000)
})

function recordedExchanges(): Exchange[] {
  const files = [
    'vm-power-ops-2022',
    'vm-poweroff-start-deallocate-resize',
    'vm-resize-running-inplace',
    'vm-etag-2025',
  ]
  return files
    .flatMap((file) => recording(file))
    .filter(({ request }) => /\/virtualMachines/i.test(request.path))
    .map(({ request, response }) => ({
      ...{ method: request.method, url: request.path, body: request.body, status: response.status },
      answerBody: response.body,
    }))
}
