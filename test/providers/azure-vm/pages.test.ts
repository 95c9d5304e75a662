import { afterEach, describe, expect, it } from 'vitest'
import { ArmCloud } from '../../../src/simulation/arm/arm-cloud.js'
import type { ArmRequest } from '../../../src/simulation/arm/arm-log.js'
import { kindOf, signal } from '../machines-contract.js'
import { addVm, machinesOn, SKUS, startArm } from './stand-in.js'

describe('a list that Azure gives page by page', () => {
  let arm: ArmCloud

  afterEach(() => arm.close())

  async function start(vms: number): Promise<void> {
    arm = await startArm({ pageSize: 1 })
    for (let at = 1; at <= vms; at++) addVm(arm, `w-${at}`)
  }

  const pages = (call: ArmRequest['call']) => arm.log.all().filter((request) => request.call === call)
  const isSecond = ({ url }: ArmRequest) => /skiptoken=1\b/.test(url)

  it('CKS-00 is read whole, whatever the length of its pages', async () => {
    await start(3)

    const found = await machinesOn(arm).list(signal())

    expect(found.map(({ name, rootDiskGiB, cpu }) => [name, rootDiskGiB, cpu])).toEqual([
      ...[1, 2, 3].map((at) => [`w-${at}`, 64, 2]),
    ])
    expect(pages('listVms')).toHaveLength(3)
    expect(pages('listDisks')).toHaveLength(3)
    expect(pages('skus').length).toBe(
      SKUS.filter(({ locations }) => locations.includes(arm.settings.location)).length,
    )
  })

  it('CKS-00 takes a turn for every page', async () => {
    await start(60)
    const machines = machinesOn(arm, {}, { requestsPerSecond: 10 })
    const began = performance.now()

    await machines.list(signal())

    // A burst of a hundred, then ten a second.
    const over = arm.log.all().length - 100
    expect(over).toBeGreaterThan(10)
    expect(performance.now() - began).toBeGreaterThan((over / 10) * 900)
  })

  it('CKS-00 ends the request for a later page, too, when its step ends', async () => {
    await start(2)
    const caller = new AbortController()
    const reason = new Error('no longer wanted')
    let letGo: () => void = () => undefined
    arm.onRequest({ call: 'listVms' }, (request) => {
      if (!isSecond(request)) return
      caller.abort(reason)
      return new Promise((resolve) => {
        letGo = resolve
      })
    })

    await expect(machinesOn(arm).list(caller.signal)).rejects.toBe(reason)
    letGo()
  })

  it('is throttled by a later page as by the first', async () => {
    await start(2)
    const error = { code: 'OperationNotAllowed', message: 'too many requests' }
    const machines = machinesOn(arm)
    arm.onRequest({ call: 'listVms' }, () =>
      arm.faults.add({
        call: 'listVms',
        count: 1,
        effect: { kind: 'answer', status: 429, error, retryAfterSeconds: 7 },
      }),
    )

    const failure = await machines.list(signal()).catch((thrown: unknown) => thrown)

    expect(failure).toMatchObject({ kind: 'throttled', retryAfterSeconds: 7 })
    expect(pages('listVms')).toHaveLength(2)
  })

  it('takes its token to no other server, wherever the next page is said to be', async () => {
    await start(2)
    const other = new ArmCloud()
    await other.start()
    arm.onRequest({ call: 'listVms' }, (request) => {
      const body = request.answerBody as { nextLink?: string }
      Object.assign(body, { nextLink: body.nextLink?.replace(arm.url, other.url) })
    })

    expect(await kindOf(machinesOn(arm).list(signal()))).toBe('refused')
    expect(other.log.all()).toEqual([])
    await other.close()
  })
})
