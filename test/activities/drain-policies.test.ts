import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { PodSelector } from '../../src/core/spec.js'
import { NODES, PODS, patient } from '../providers/kubernetes/bed.js'
import { waitUntil } from '../support/wait.js'
import { DrainBed } from './drain-bed.js'

let bed: DrainBed

beforeAll(async () => {
  bed = await DrainBed.open()
})
beforeEach(() => bed.begin())
afterEach(() => bed.end())
afterAll(() => bed?.close())

function labelled(app: string): PodSelector {
  return { namespace: null, matchLabels: { app }, matchExpressions: [] }
}

async function stillThere(): Promise<string[]> {
  return (await bed.parts.admin.list(PODS)).map(({ metadata }) => metadata.name).sort()
}

describe('the order of a drain', () => {
  it('CKS-16 critical pods are asked to go when all others are gone', async () => {
    await bed.addPod('dns', { priorityClassName: 'system-cluster-critical' })
    await bed.addPod('web', { graceSeconds: 30 })
    await bed.addPod('api', { graceSeconds: 30 })
    const drain = bed.start()
    await bed.untilEvicted('web')
    await bed.untilEvicted('api')
    await bed.endPod('api')

    const waits = await drain.untilWaitsFor(/^pod default\/web is terminating/)
    const asked = await bed.evictions()
    await bed.endPod('web')
    const { evicted } = await drain.end

    expect(waits).toContain('pod default/dns waits for the pods before it')
    expect(asked.sort()).toEqual(['api', 'web'])
    expect(await bed.evictions()).toEqual([...(await bed.evictions()).slice(0, 2), 'dns'])
    expect(evicted).toBe(3)
  })

  it('CKS-16 pods go in the order of the spec’s selectors, the rest where it says', async () => {
    for (const name of ['last', 'other', 'first']) await bed.addPod(name)

    await bed.drain({
      policy: { order: { by: 'selectors', groups: [labelled('first'), 'rest', labelled('last')] } },
    })

    expect(await bed.evictions()).toEqual(['first', 'other', 'last'])
  })
})

describe('pods that a drain leaves, or lets end', () => {
  it('CKS-16 a skipped pod stays, and is not waited for', async () => {
    await bed.addPod('kept')
    await bed.addPod('web')

    expect(await bed.drain({ policy: { skip: [labelled('kept')] } })).toMatchObject({ evicted: 1 })

    expect(await stillThere()).toEqual(['kept'])
  })

  it('CKS-16 ANSWER-09 a pod to complete is waited for in its turn, and evicted when it has ended', async () => {
    await bed.addPod('job', { graceSeconds: 30 })
    await bed.addPod('dns', { priorityClassName: 'system-cluster-critical' })
    const drain = bed.start({ policy: { waitCompleted: [labelled('job')] } })
    await drain.untilWaitsFor(/^pod default\/job is left to run to its end \(drain.waitCompleted\)/)
    const asked = await bed.evictions()

    await bed.setStatus(`${PODS}/job`, { phase: 'Succeeded', ready: false })
    await drain.end

    expect(asked).toEqual([])
    expect(await bed.evictions()).toEqual(['job', 'dns'])
  })

  it('B02 WAIT-05 a pod that terminates for too long is no longer waited for if the spec says so', async () => {
    await bed.addPod('stuck', { finalizers: ['example.com/hold'], graceSeconds: 0 })
    await bed.parts.admin.ok('DELETE', `${PODS}/stuck`)
    const drain = bed.start({ policy: { skipWaitForDeleteSeconds: 10 } })

    const waits = await drain.untilWaitsFor(/stuck/)
    const { evicted, warnings } = await drain.end

    expect(waits).toEqual(['pod default/stuck is terminating, held by finalizer example.com/hold'])
    expect(evicted).toBe(0)
    expect(warnings).toEqual([
      'pod default/stuck on w-1 was not waited for: terminating for longer than drain.skipWaitForDelete',
    ])
    const events = await bed.parts.admin.list('/api/v1/namespaces/default/events')
    expect(events.filter(({ reason }) => reason === 'NotWaitedFor')).toMatchObject([
      { type: 'Warning', message: warnings?.[0], involvedObject: { kind: 'Node', name: 'w-1' } },
    ])
    expect((await bed.parts.admin.ok('GET', `${PODS}/stuck`)).metadata.finalizers).toEqual([
      'example.com/hold',
    ])
    expect(await bed.evictions()).toEqual([])
  })

  it('B02 a pod is waited for within its own grace, whatever drain.skipWaitForDelete says', async () => {
    await bed.addPod('slow', { graceSeconds: 300 })
    await bed.parts.admin.ok('DELETE', `${PODS}/slow`)
    const askedAt = Date.now()
    const drain = bed.start({ policy: { skipWaitForDeleteSeconds: 1 } })

    // The drain looks again and again: it has seen the pod older than that.
    const late = () => Date.now() - askedAt > 3_500
    await waitUntil(
      async () =>
        late() && (await bed.requests({ resource: 'leases' })).some(({ time }) => time > askedAt + 3_000),
      {
        for: 'a look at the node',
        timeoutMs: 15_000,
      },
    )
    await drain.untilWaitsFor(/^pod default\/slow is terminating/)
    await bed.endPod('slow')

    expect(await drain.end).toMatchObject({ evicted: 0, warnings: [] })
  })

  /** Whoever writes it: the kubelet itself, or the node lifecycle controller when it no longer hears of it. */
  async function sayReady(status: string, since: number | null): Promise<void> {
    const lastTransitionTime = since === null ? null : new Date(since).toISOString().replace(/\.\d+/, '')
    await bed.parts.admin.ok('PATCH', `${NODES}/w-1/status`, {
      status: { conditions: [{ type: 'Ready', status, lastTransitionTime }] },
    })
  }

  it('B02 on a node whose kubelet has been silent for long terminating pods are waited for only so long', async () => {
    await bed.addPod('stuck', { graceSeconds: 300 })
    await bed.parts.admin.ok('DELETE', `${PODS}/stuck`)
    const drain = bed.start({ policy: { unreachableWaitSeconds: 2 } })
    await drain.untilWaitsFor(/^pod default\/stuck is terminating/)

    await sayReady('Unknown', Date.now() - 60_000)

    expect(await drain.end).toMatchObject({
      evicted: 0,
      warnings: [expect.stringContaining('drain.unreachableWait on a node that is silent as long')],
    })
    expect(await stillThere()).toEqual(['stuck'])
  })

  it.each([
    ['has long said that it is not ready', 'False', 1_000],
    ['is silent, nobody says since when', 'Unknown', null],
  ])('B02 pods of a node whose kubelet %s keep their grace', async (_, status, since) => {
    const { cluster } = await bed.parts.open({})
    await bed.addPod('db', { graceSeconds: 900 })
    await bed.parts.admin.ok('DELETE', `${PODS}/db`)
    await waitUntil(
      async () => {
        const pods = await cluster.podsOn('w-1', patient())
        return pods.some(({ deletionAgeSeconds }) => (deletionAgeSeconds ?? 0) > 3)
      },
      { for: 'a pod that terminates for 4 s', everyMs: 200 },
    )
    await sayReady(status, since)
    const drain = bed.start({ policy: { unreachableWaitSeconds: 2 } })

    await drain.untilWaitsFor(/^pod default\/db is terminating/)
    await bed.endPod('db')

    expect(await drain.end).toMatchObject({ evicted: 0, warnings: [] })
  })
})

describe('the settle time of load balancers', () => {
  it('CKS-16 passes before the first eviction, counted from when the drain was asked for', async () => {
    await bed.addPod('web')
    const startedAt = Date.now()
    const drain = bed.start({
      policy: { loadBalancerSettleSeconds: 66 },
      askedSecondsAgo: 60,
      limitSeconds: 120,
    })

    await drain.untilWaitsFor(/^external load balancers have 66 s to stop using w-1/)
    await drain.end

    const [first] = await bed.requests({ subresource: 'eviction' })
    expect((first?.time ?? 0) - startedAt).toBeGreaterThanOrEqual(5_990)
    expect(Date.now() - startedAt).toBeLessThan(40_000)
  })

  it('CKS-16 passes also when no pod has to go: those of DaemonSets serve until the stop', async () => {
    const startedAt = Date.now()

    await bed.drain({ policy: { loadBalancerSettleSeconds: 62 }, askedSecondsAgo: 60, limitSeconds: 120 })

    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(1_990)
  })
})

describe('grace and parallelism', () => {
  it('CKS-16 the spec’s grace period overrides that of the pods', async () => {
    await bed.addPod('web', { graceSeconds: 300 })
    const drain = bed.start({ policy: { gracePeriodSeconds: 7 } })
    await bed.untilEvicted('web')

    expect((await bed.parts.admin.ok('GET', `${PODS}/web`)).metadata).toMatchObject({
      deletionGracePeriodSeconds: 7,
    })
    await bed.endPod('web')
    await drain.end
  })

  it('CKS-16 no more evictions are under way at once than the spec allows', async () => {
    for (let n = 0; n < 8; n++) await bed.addPod(`p-${n}`)
    let open = 0
    let most = 0
    bed.parts.proxy.on({ path: /eviction$/ }, async () => {
      open++
      most = Math.max(most, open)
      await waitUntil(() => most >= 3, { for: 'as many evictions as are allowed' })
      // Time for one too many.
      await new Promise((resolve) => setTimeout(resolve, 50))
      open--
      return undefined
    })

    expect(await bed.drain({ policy: { parallelEvictions: 3 } })).toMatchObject({ evicted: 8 })

    expect(most).toBe(3)
  })
})
