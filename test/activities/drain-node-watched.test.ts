import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { NODES } from '../providers/kubernetes/bed.js'
import { waitUntil } from '../support/wait.js'
import { DrainBed } from './drain-bed.js'

let bed: DrainBed

beforeAll(async () => {
  bed = await DrainBed.open()
})
beforeEach(() => bed.begin())
afterEach(() => bed.end())
afterAll(() => bed?.close())

describe('the node of a drain', () => {
  it('CKS-16 KUBECTL-16 one without pods stays cordoned, and nothing is asked of it', async () => {
    expect(await bed.drain()).toMatchObject({ evicted: 0 })

    expect((await bed.parts.admin.ok('GET', `${NODES}/w-1`)).spec.unschedulable).toBe(true)
    expect(await bed.requests({ verb: 'patch' })).toEqual([])
    expect(await bed.evictions()).toEqual([])
  })

  it('CKS-16 CORDON-03 a node that is cordoned is not written to', async () => {
    for (let n = 0; n < 5; n++) await bed.addPod(`p-${n}`)

    await bed.drain()

    expect(await bed.requests({ verb: 'patch' })).toEqual([])
  })

  it('CKS-16 CORDON-05 a node that is gone fails the drain, without any write', async () => {
    const drain = bed.start({ node: 'w-1' })
    await drain.end
    await bed.parts.admin.ok('DELETE', `${NODES}/w-1`)
    const again = bed.startFor(drain)

    await expect(again.end).rejects.toMatchObject({ type: 'NodeChanged' })

    expect((await bed.requests()).filter(({ verb }) => !['get', 'list', 'watch'].includes(verb))).toEqual([])
  })

  it('B03 is cordoned again when it is uncordoned in mid-drain, and who came meanwhile is asked to go', async () => {
    await bed.addPod('slow', { graceSeconds: 30 })
    const drain = bed.start()
    await bed.untilEvicted('slow')

    await bed.parts.admin.ok('PATCH', `${NODES}/w-1`, { spec: { unschedulable: false } })
    await bed.addPod('newcomer', { graceSeconds: 30 })
    await bed.untilEvicted('newcomer')
    await waitUntil(async () => (await bed.parts.admin.ok('GET', `${NODES}/w-1`)).spec.unschedulable, {
      for: 'the cordon to be back',
    })
    await bed.endPod('newcomer')
    await bed.endPod('slow')
    await drain.end

    const [cordon] = await bed.requests({ verb: 'patch' })
    expect(cordon?.requestBody.spec).toEqual({ unschedulable: true })
    expect(await bed.evictions()).toEqual(['slow', 'newcomer'])
  })

  it.each([
    ['its Lease', 'lease'],
    ['its mark', 'mark'],
  ])('CKS-24 ends once it has lost %s', async (_, what) => {
    await bed.addPod('slow', { graceSeconds: 30 })
    const drain = bed.start()
    await bed.untilEvicted('slow')

    if (what === 'lease') await bed.loseLease()
    else await bed.loseMark('w-1')

    await expect(drain.end).rejects.toMatchObject({ type: what === 'lease' ? 'LeaseLost' : 'NodeChanged' })
  })

  it('B35 goes on by itself after the API server was away, though its watch died without a word', async () => {
    await bed.addPod('a', { graceSeconds: 30 })
    await bed.addPod('b', { graceSeconds: 30 })
    const drain = bed.start()
    await bed.untilEvicted('a')
    await bed.untilEvicted('b')

    await bed.parts.proxy.down()
    await bed.endPod('a')
    await bed.parts.proxy.up()
    await drain.untilWaitsFor(/^pod default\/b is terminating/)
    await bed.endPod('b')

    await drain.end
    // The answer about b may have been lost with the connection: then it was asked for again.
    expect([...new Set(await bed.evictions())].sort()).toEqual(['a', 'b'])
  })
})

describe('the requests of a drain', () => {
  it('CKS-16 are one a pod, and a dozen', async () => {
    for (let n = 0; n < 30; n++) await bed.addPod(`p-${n}`)

    await bed.drain()

    const requests = await bed.requests()
    expect(requests.filter(({ subresource }) => subresource === 'eviction')).toHaveLength(30)
    expect(requests.filter(({ resource, verb }) => resource === 'pods' && verb === 'list')).toHaveLength(1)
    expect(requests.length).toBeLessThanOrEqual(30 + 13)
  })
})
