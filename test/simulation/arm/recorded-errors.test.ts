import { readFileSync } from 'node:fs'
import { Agent, fetch } from 'undici'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ArmCloud } from '../../../src/simulation/arm/arm-cloud.js'
import { REGION, SKUS } from '../../providers/azure-vm/stand-in.js'

interface Recorded {
  readonly title: string
  readonly response: { readonly status: number; readonly body: { error: { code: string; message: string } } }
}

const RECORDED: Recorded[] = JSON.parse(
  readFileSync(new URL('../../fixtures/azure/errors.json', import.meta.url), 'utf8'),
).items
const GROUP = 'rg-1'
const VM = `${GROUP}/providers/Microsoft.Compute/virtualMachines/node-1`

describe('the ARM stand-in held to recorded refusals', () => {
  let arm: ArmCloud

  beforeEach(async () => {
    arm = new ArmCloud({ location: REGION, skus: SKUS, limits: { cores: 3 } })
    await arm.start()
  })
  afterEach(() => arm.close())

  it.each<{ title: RegExp; vm?: boolean; path?: string; body?: object; headers?: Record<string, string> }>([
    {
      title: /^PPG change on a running VM/,
      body: { properties: { proximityPlacementGroup: { id: '/subscriptions/s/ppg' } } },
    },
    { title: /^Change of an immutable VM property/, body: { properties: { priority: 'Low' } } },
    {
      title: /^If-Match mismatch on a VM /,
      body: { tags: { key1: 'value1' } },
      headers: { 'if-match': '"invalid"' },
    },
    { title: /^VM not found, seen by ARM/, vm: false, path: `${VM}/instanceView` },
    { title: /^Resource group not found/, vm: false, path: VM.replace(/\/node-1$/, '') },
  ])('says word for word what was recorded: $title', async ({ title, vm, path = VM, body, headers = {} }) => {
    const { response } = recorded(title)
    if (vm === false && path.endsWith('instanceView')) arm.state.resourceGroups.push(GROUP)
    if (vm !== false) addVm()
    // The recorded VM had been written to before.
    if (vm !== false) arm.change('node-1', (one) => Object.assign(one, { etag: 2 }))

    const answer = await ask(body === undefined ? 'GET' : 'PATCH', path, body, headers)

    expect(answer).toEqual({ status: response.status, body: response.body })
  })

  it('refuses what is over the quota with the recorded status, code and keys', async () => {
    const { response } = recorded(/^Quota: VM create/)
    addVm()

    const { status, body } = await ask('PATCH', VM, {
      properties: { hardwareProfile: { vmSize: 'Standard_D4s_v3' } },
    })

    expect([status, Object.keys(body.error), body.error.code]).toEqual([
      response.status,
      Object.keys(response.body.error),
      response.body.error.code,
    ])
    // Its words have changed since; both are known to the provider (errors.test.ts).
    expect(body.error.message).toContain('exceeding approved')
  })

  it('accepts a smaller disk, and says in the operation that it failed', async () => {
    const { response } = recorded(/^Disk shrink/)
    addVm()
    arm.change('node-1', (one) => {
      one.power = 'deallocated'
    })
    const disk = `${GROUP}/providers/Microsoft.Compute/disks/${arm.osDisk('node-1').name}`

    const { status, operation } = await ask('PATCH', disk, { properties: { diskSizeGB: 10 } })
    arm.finishOperations()
    const end = await ask('GET', operation ?? '')

    expect(status).toBe(202)
    expect(end.status).toBe(response.status)
    expect(Object.keys(end.body).sort()).toEqual(Object.keys(response.body).sort())
    expect(end.body).toMatchObject({ status: 'Failed', error: response.body.error })
  })

  function recorded(title: RegExp): Recorded {
    const found = RECORDED.find((one) => title.test(one.title))
    if (found === undefined) throw new Error(`nothing recorded under ${title}`)
    return found
  }

  function addVm(): void {
    arm.addVm({ name: 'node-1', resourceGroup: GROUP, size: 'Standard_D2s_v3', osDiskGiB: 64 })
  }

  async function ask(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
    const url = path.startsWith('https')
      ? path
      : `${arm.url}/subscriptions/${arm.settings.subscriptionId}/resourceGroups/${path}`
    const answer = await fetch(url, {
      method,
      headers: { authorization: 'Bearer t', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      dispatcher: new Agent({ connect: { ca: arm.ca } }),
    })
    const operation = answer.headers.get('azure-asyncoperation')
    const said = { status: answer.status, body: (await answer.json()) as Recorded['response']['body'] }
    return { ...said, ...(operation === null ? {} : { operation }) }
  }
})
