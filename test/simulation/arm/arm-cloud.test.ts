import { existsSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, fetch } from 'undici'
import { afterEach, describe, expect, it } from 'vitest'
import { ArmCloud, type ArmCloudOptions } from '../../../src/simulation/arm/arm-cloud.js'
import { addVm, GROUP, REGION, SKUS } from '../../providers/azure-vm/stand-in.js'
import { waitUntil } from '../../support/wait.js'

const D4 = 'Standard_D4s_v3'

describe('the ARM stand-in', () => {
  let arm: ArmCloud

  afterEach(() => arm.close())

  async function start(options: ArmCloudOptions = {}): Promise<void> {
    arm = new ArmCloud({ location: REGION, skus: SKUS, ...options })
    await arm.start()
  }

  async function ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const answer = await fetch(path.startsWith('https') ? path : vmPath(path), {
      method,
      headers: { authorization: 'Bearer t', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      dispatcher: new Agent({ connect: { ca: arm.ca } }),
    })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) }
  }

  function vmPath(rest: string): string {
    return `${arm.url}/SUBSCRIPTIONS/${arm.settings.subscriptionId}/resourcegroups/${GROUP.toUpperCase()}/providers/microsoft.COMPUTE/VirtualMachines/${rest}`
  }

  const size = (vmSize: string) => ({ properties: { hardwareProfile: { vmSize } } })

  it('asks for a token, whatever the path', async () => {
    await start()
    addVm(arm, 'w-1')

    expect(await ask('GET', 'w-1', undefined, { authorization: '' })).toMatchObject({
      status: 401,
      body: { error: { code: 'AuthenticationFailed' } },
    })
  })

  it('B18 keeps a VM that is powered off on its hardware: the size it lacks is refused until it is deallocated', async () => {
    await start({ clusterSizes: ['Standard_D2s_v3'] })
    addVm(arm, 'w-1')
    const sizes = async () =>
      (await ask('GET', 'w-1/vmSizes')).body.value.map((one: { name: string }) => one.name)

    expect(await sizes()).toEqual(['Standard_D2s_v3'])
    await ask('POST', 'w-1/powerOff')
    await waitUntil(() => arm.vm('w-1').power === 'stopped', { for: 'power off' })
    expect(await ask('PATCH', 'w-1', size(D4))).toMatchObject({
      status: 409,
      body: { error: { code: 'OperationNotAllowed', message: expect.stringContaining('hardware cluster') } },
    })
    await ask('POST', 'w-1/deallocate')
    await waitUntil(() => arm.vm('w-1').power === 'deallocated', { for: 'deallocation' })
    expect(await sizes()).toContain(D4)
    expect((await ask('PATCH', 'w-1', size(D4))).status).toBe(200)
  })

  it('restarts a VM that is resized while it runs: its kubelet boots again', async () => {
    await start()
    addVm(arm, 'w-1', { node: { cluster: 'blue' } })
    const before = arm.machine('w-1').upSince ?? 0
    await new Promise((resolve) => setTimeout(resolve, 5))

    await ask('PATCH', 'w-1', size(D4))

    await waitUntil(() => arm.vm('w-1').operation === null, { for: 'the update' })
    expect(arm.machine('w-1')).toMatchObject({ power: 'running', offering: D4 })
    expect(arm.machine('w-1').upSince).toBeGreaterThan(before)
  })

  it('refuses a second write on a VM in the middle of one', async () => {
    await start({ delays: { deallocateMs: 60_000 } })
    addVm(arm, 'w-1')
    await ask('POST', 'w-1/deallocate')

    expect(arm.vm('w-1').power).toBe('deallocating')
    expect(await ask('POST', 'w-1/start')).toMatchObject({
      status: 409,
      body: { error: { code: 'OperationNotAllowed', message: expect.stringContaining('ongoing operation') } },
    })
  })

  it.each([
    ['availabilitySet.id', { properties: { availabilitySet: { id: '/x' } } }],
    ['priority', { properties: { priority: 'Spot' } }],
    ['zones', { zones: ['2'] }],
  ])('cannot change %s', async (target, body) => {
    await start()
    addVm(arm, 'w-1', { power: 'deallocated' })

    expect(await ask('PATCH', 'w-1', body)).toMatchObject({
      status: 409,
      body: { error: { code: 'PropertyChangeNotAllowed', target } },
    })
  })

  it('goes on with what it had in hand when it comes back, with nobody asking meanwhile', async () => {
    const stateFile = join(await mkdtemp(join(tmpdir(), 'noderoll-arm-')), 'state.json')
    await start({ stateFile, delays: { deallocateMs: 200 } })
    addVm(arm, 'w-1')
    const { headers } = await ask('POST', 'w-1/deallocate')
    const operation = headers.get('azure-asyncoperation') ?? ''
    expect(existsSync(stateFile)).toBe(true)

    await arm.restart(300)

    await waitUntil(() => arm.vm('w-1').power === 'deallocated', { for: 'the deallocation' })
    expect((await ask('GET', operation)).body).toMatchObject({ status: 'Succeeded' })
    await arm.close()
    await start({ stateFile })
    const { body } = await ask('GET', 'w-1?$expand=instanceView')
    expect(JSON.stringify(body)).toContain('PowerState/deallocated')
  })

  it('counts cores in use, of VMs that are off, too', async () => {
    await start({ limits: { cores: 7 } })
    addVm(arm, 'w-1')
    addVm(arm, 'w-2', { power: 'deallocated' })

    expect(await ask('PATCH', 'w-2', size('Standard_F16s_v2'))).toMatchObject({
      status: 409,
      body: {
        error: {
          message: expect.stringMatching(/Current Limit: 7, Current Usage: 4, Additional Required: 14/),
        },
      },
    })
    const usages = await ask(
      'GET',
      `${arm.url}/subscriptions/${arm.settings.subscriptionId}/providers/Microsoft.Compute/locations/${REGION}/usages`,
    )
    expect(usages.body.value[0]).toMatchObject({ name: { value: 'cores' }, currentValue: 4, limit: 7 })
  })
})
