import { Agent, fetch } from 'undici'
import { afterEach, describe, expect, it } from 'vitest'
import { ArmCloud } from '../../../src/simulation/arm/arm-cloud.js'
import { type ArmSku, simulatedSkus } from '../../../src/simulation/arm/arm-skus.js'
import type { NewVm } from '../../../src/simulation/arm/new-vm.js'
import { SKUS as RECORDED_SKUS, REGION } from '../../providers/azure-vm/stand-in.js'
import { fields, type Interaction, keysOf, recording, SOMETIMES } from './recordings.js'

const SUBSCRIPTION = '00000000-0000-0000-0000-000000000000'
const RG = 'rg-1'

/** Sizes the recordings use, with what the stand-in needs to know of them. */
const SKUS: ArmSku[] = [
  ['Standard_D3_v2', 4, 14],
  ['Standard_DS1_v2', 1, 3.5],
  ['Standard_DS2_v2', 2, 7],
  ['Standard_B1ls', 1, 0.5],
  ['Standard_B1ms', 1, 2],
  ['Standard_D2_v2', 2, 7],
  ['Standard_D2s_v3', 2, 8],
].map(([name, cores, memory]) => ({
  resourceType: 'virtualMachines',
  name: String(name),
  family: 'anyFamily',
  locations: ['eastus', 'eastus2', 'westus', 'westus2', 'westcentralus'],
  capabilities: Object.entries({
    vCPUs: cores,
    MemoryGB: memory,
    MaxResourceVolumeMB: 4096,
    HyperVGenerations: 'V1,V2',
    PremiumIO: 'True',
    MaxDataDiskCount: 8,
    MaxNetworkInterfaces: 2,
  }).map(([key, value]) => ({ name: key, value: String(value) })),
}))

interface Story {
  readonly file: string
  readonly location: string
  readonly vm?: Partial<NewVm> & { size: string }
  readonly disks?: readonly string[]
  /** Of the interactions, those that are not about VMs and disks. */
  readonly leaveOut?: RegExp
}

const STORIES: Story[] = [
  {
    file: 'vm-deallocate-growosdisk-start',
    location: 'westcentralus',
    vm: { size: 'Standard_D3_v2', osDiskGiB: 30, generation: 'V1' },
  },
  {
    file: 'vm-poweroff-start-deallocate-resize',
    location: 'eastus',
    vm: { size: 'Standard_DS1_v2', osDiskGiB: 30, generation: 'V1', tags: { firsttag: '1' } },
  },
  { file: 'vm-power-ops-2022', location: 'eastus', vm: { size: 'Standard_D2_v2', generation: 'V1' } },
  {
    file: 'vm-ppg-change-deallocated',
    location: 'westus',
    vm: { size: 'Standard_DS1_v2', osDiskGiB: 30, generation: 'V1' },
  },
  { file: 'vm-resize-running-inplace', location: 'eastus', vm: { size: 'Standard_B1ls', generation: 'V1' } },
  { file: 'vm-available-sizes', location: 'eastus', vm: { size: 'Standard_B1ls', generation: 'V1' } },
  { file: 'vm-etag-2025', location: 'eastus2' },
  { file: 'disk-ops-2025', location: 'eastus2' },
  { file: 'disk-ops-2024', location: 'westus2', leaveOut: /resourceGroups\/rg-1\?/ },
  { file: 'disk-grow-unattached', location: 'westus' },
  { file: 'disk-grow-fluent-2020', location: 'westcentralus' },
  { file: 'usages', location: 'westus' },
]

describe('the ARM stand-in held to recorded traffic', () => {
  let arm: ArmCloud

  afterEach(() => arm.close())

  it.each(STORIES)('answers $file as Azure did: status, async headers, body keys', async (story) => {
    const { ca } = await prepare(story)
    const dispatcher = new Agent({ connect: { ca } })
    /** Recorded operation id → where the stand-in's own operation is. */
    const operations = new Map<string, { async: string; monitor: string }>()
    const all = recording(story.file)

    for (const [at, interaction] of all.entries()) {
      const { request, response } = interaction
      if (story.leaveOut?.test(request.path)) continue
      const ended = fields(response.body).status === 'Succeeded' || request.path.includes('monitor=true')
      // A disk that was read or written again has come to rest, whether its polls were recorded or not.
      if (ended || /\/disks\//i.test(request.path)) arm.finishOperations()
      const url = operationUrl(request.path, operations) ?? arm.url + request.path
      const answer = await fetch(url, {
        method: request.method,
        headers: {
          authorization: 'Bearer t',
          'content-type': 'application/json',
          ...(fields(request.body).etag === undefined
            ? {}
            : { 'if-match': `"${fields(request.body).etag}"` }),
        },
        ...(request.method === 'GET' || request.method === 'POST'
          ? {}
          : { body: JSON.stringify(bodyOf(interaction)) }),
        dispatcher,
      })
      const text = await answer.text()
      const where = `${story.file} #${at} ${request.method} ${request.path.slice(0, 140)}`

      expect(answer.status, where).toBe(response.status)
      expectHeaders(interaction, answer.headers, where)
      expectKeys(interaction, text === '' ? undefined : JSON.parse(text), where)
      remember(interaction, answer.headers, operations)
    }
  })

  // The OpenAPI files at hand do not describe it.
  it('answers the list of sizes with the recorded entries of the region, and with keys of theirs for sizes nobody recorded', async () => {
    const listed = async (skus: readonly ArmSku[]): Promise<object[]> => {
      arm = new ArmCloud({ subscriptionId: SUBSCRIPTION, location: REGION, skus })
      await arm.start()
      const answer = await fetch(
        `${arm.url}/subscriptions/${SUBSCRIPTION}/providers/Microsoft.Compute/skus?api-version=2021-07-01&$filter=${encodeURIComponent(`location eq '${REGION}'`)}`,
        {
          headers: { authorization: 'Bearer t' },
          dispatcher: new Agent({ connect: { ca: arm.ca } }),
        },
      )
      expect(answer.status).toBe(200)
      return ((await answer.json()) as { value: object[] }).value
    }

    const recorded = await listed(RECORDED_SKUS)
    await arm.close()
    const simulated = await listed(simulatedSkus(REGION))

    expect(recorded.length).toBeGreaterThan(5)
    expect(recorded).toEqual(RECORDED_SKUS.filter(({ locations }) => locations.includes(REGION)))
    const known = new Set(recorded.flatMap(pathsOf))
    const always = [...known].filter((path) => recorded.every((sku) => pathsOf(sku).includes(path)))
    for (const sku of simulated) {
      const paths = pathsOf(sku)
      expect(paths.filter((path) => !known.has(path))).toEqual([])
      expect(always.filter((path) => !path.includes('capabilities.') && !paths.includes(path))).toEqual([])
    }
  })

  async function prepare({ location, vm, file }: Story): Promise<{ ca: string }> {
    const forever = 3_600_000
    arm = new ArmCloud({
      ...{ subscriptionId: SUBSCRIPTION, location, skus: SKUS, retryAfterSeconds: 10 },
      delays: { deallocateMs: forever, startMs: forever, updateMs: forever, diskMs: forever },
    })
    await arm.start()
    arm.state.resourceGroups.push(RG)
    for (const name of placementGroupsIn(recording(file))) arm.addPlacementGroup({ resourceGroup: RG, name })
    if (vm === undefined) return { ca: arm.ca }
    arm.addVm({ ...vm, name: 'node-1', resourceGroup: RG })
    renameOsDisk(file)
    return { ca: arm.ca }
  }

  /** The OS disk of the recording has a name of its own. */
  function renameOsDisk(file: string): void {
    const path = recording(file).find(({ request }) => /\/disks\//.test(request.path))?.request.path
    const name = /\/disks\/([^?/]+)/.exec(path ?? '')?.[1]
    if (name === undefined) return
    const disk = arm.osDisk('node-1')
    const key = `${RG}/${name}`.toLowerCase()
    arm.state.disks[key] = { ...disk, name }
    Object.assign(arm.vm('node-1'), { osDisk: key })
  }
})

/** Every key, whatever the depth, and the name of every capability. */
function pathsOf(value: unknown): string[] {
  if (Array.isArray(value)) return [...new Set(value.flatMap(pathsOf))]
  return Object.entries(fields(value)).flatMap(([key, one]) => [
    key === 'name' && 'value' in fields(value) ? `name ${one}` : key,
    ...pathsOf(one).map((path) => `${key}.${path}`),
  ])
}

function bodyOf({ request, response }: Interaction): unknown {
  if (request.body !== undefined && request.body !== null) return request.body
  // Some recorders kept no bodies; then the answer tells what was asked for.
  const { hardwareProfile } = fields(fields(response.body).properties)
  return hardwareProfile === undefined ? {} : { properties: { hardwareProfile } }
}

function placementGroupsIn(all: Interaction[]): string[] {
  const ids = JSON.stringify(all).match(/proximityPlacementGroups\/([^"/]+)/g) ?? []
  return [...new Set(ids.map((id) => id.slice(id.indexOf('/') + 1)))]
}

function operationUrl(
  path: string,
  operations: Map<string, { async: string; monitor: string }>,
): string | undefined {
  const id = /operations\/([^?]+)/i.exec(path)?.[1]
  const known = id === undefined ? undefined : operations.get(id)
  return path.includes('monitor=true') ? known?.monitor : known?.async
}

function remember(
  { response }: Interaction,
  headers: { get(name: string): string | null },
  operations: Map<string, { async: string; monitor: string }>,
): void {
  const id = /operations\/([^?]+)/i.exec(response.headers['azure-asyncoperation'] ?? '')?.[1]
  if (id === undefined) return
  operations.set(id, {
    async: headers.get('azure-asyncoperation') ?? '',
    monitor: headers.get('location') ?? '',
  })
}

function expectHeaders(
  { response }: Interaction,
  headers: { has(name: string): boolean },
  where: string,
): void {
  for (const name of ['azure-asyncoperation', 'location']) {
    expect(headers.has(name), `${where}: ${name}`).toBe(name in response.headers)
  }
  // Recorders dropped these where they could; what one of them kept the stand-in has to have.
  const kept = ['retry-after', 'etag', 'azure-asyncnotification', 'x-ms-failure-cause'].filter(
    (name) => name in response.headers,
  )
  expect(
    kept.filter((name) => !headers.has(name)),
    where,
  ).toEqual([])
}

function expectKeys({ response }: Interaction, body: unknown, where: string): void {
  const recorded = keysOf(response.body)
  const ours = keysOf(body)
  const missing = recorded.filter((key) => !ours.includes(key) && !SOMETIMES.has(key))
  const invented = ours.filter((key) => !recorded.includes(key) && !SOMETIMES.has(key))
  const emptyList = recorded.length === 1 && recorded[0] === 'value'
  expect({ missing, invented: emptyList ? [] : invented }, where).toEqual({ missing: [], invented: [] })
}
