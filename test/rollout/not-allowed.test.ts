import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { expectAsFound, found } from '../support/batch-nodes.js'
import { addBarePod } from '../support/batch-pods.js'
import { answer, FaultProxy } from '../support/proxy.js'
import { RolloutBed } from '../support/rollout-bed.js'

let bed: RolloutBed
let proxy: FaultProxy

beforeAll(async () => {
  bed = await RolloutBed.open()
  proxy = await FaultProxy.start(bed.kube.access)
  await bed.reachThrough(proxy)
})
afterEach(async () => {
  await bed.clean()
  await proxy.reset()
})
afterAll(async () => {
  await proxy.stop()
  await bed.close()
})

/** What the authorizer says of who lacks a permission. */
function forbids(verb: string, resource: string) {
  const message = `${resource} "x" is forbidden: User "noderoll" cannot ${verb} resource "${resource}" in API group ""`
  return answer(403, { kind: 'Status', code: 403, reason: 'Forbidden', message })
}

describe('a permission that noderoll lacks', () => {
  it('K1 on the Lease is not somebody else who holds the cluster', async () => {
    await bed.startCluster({ workers: 1 })
    await bed.startWorker()
    proxy.on({ path: /\/leases/ }, forbids('get', 'leases'))

    const end = await bed.roll({ pools: { worker: { offering: 'large' } } })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'NotAllowed',
      message: expect.stringMatching(/prod: Could not read the Lease .*cannot get resource "leases"/),
    })
    expect(bed.acts(false)).toEqual([])
  })

  it('K1 to write nodes is not somebody else who has changed one', async () => {
    await bed.startCluster({ workers: 1 })
    await bed.startWorker()
    const before = await found(bed)
    proxy.on({ method: 'PATCH', path: /\/nodes\// }, forbids('patch', 'nodes'))

    const end = await bed.roll({ pools: { worker: { offering: 'large' } } })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'NotAllowed',
      message: expect.stringMatching(/cordoning w-1: .*cannot patch resource "nodes"/),
    })
    await expectAsFound(bed, before)
    expect(bed.acts(false)).toEqual([])
  })

  it('K1 to evict puts no healthy worker into quarantine', async () => {
    await bed.startCluster({ workers: 2 })
    await bed.startWorker()
    await addBarePod(bed.kube.api, 'web', 'w-1')
    const before = await found(bed)
    proxy.on({ path: /\/eviction$/ }, forbids('create', 'pods/eviction'))

    const end = await bed.roll({
      pools: { worker: { offering: 'large' } },
      drain: { timeout: '20s', onBlocked: 'quarantine', barePods: 'evict' },
    })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'NotAllowed',
      message: expect.stringMatching(/drain of w-1: .*cannot create resource "pods\/eviction"/),
    })
    await expectAsFound(bed, before)
    expect(bed.acts(false)).toEqual([])
  })
})
