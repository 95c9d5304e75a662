import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { patchNode } from '../support/batch-nodes.js'
import { answer, FaultProxy, pass } from '../support/proxy.js'
import { GONE, marksLeft, Releases } from '../support/releases.js'
import { marksOf, type RolloutBed } from '../support/rollout-bed.js'
import { pausedRollout, writesSince } from '../support/story-world.js'

const LARGE = { worker: { offering: 'large' } } as const
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'
const CONFIG_MAP = '/api/v1/namespaces/kube-system/configmaps/noderoll'

let releases: Releases
let bed: RolloutBed

beforeAll(async () => {
  releases = await Releases.open()
  bed = releases.bed
})
afterEach(() => bed.clean())
afterAll(() => releases.close())

describe('releaseCluster, while somebody has the Lease', () => {
  async function arrangeLease(holderIdentity: string): Promise<void> {
    const spec = { holderIdentity, acquireTime: '2026-01-01T00:00:00.000000Z' }
    await bed.kube.api.ok('PATCH', `${LEASES}/noderoll`, { spec })
  }

  it('CKS-23 is refused for a holder of which nobody knows, naming it and what to do', async () => {
    await releases.storedWorkers(1)
    await arrangeLease(GONE)
    const start = await bed.kube.audit.mark()

    const ends = [
      await releases.endOfRelease(),
      await releases.endOfRelease(`${GONE}r`),
      await bed.roll({ pools: LARGE }),
    ]

    for (const end of ends) {
      expect(end).toMatchObject({ kind: 'failed', type: 'ClusterBusy' })
      expect(end).toHaveProperty(
        'message',
        expect.stringContaining(`held by ${GONE} since 2026-01-01T00:00:00`),
      )
      expect(end).toHaveProperty('message', expect.stringContaining(`{"takeOver": "${GONE}"}`))
    }
    expect(await writesSince(bed, start)).toEqual([])
  })

  it('CKS-24 is done when a person says that this holder is gone, once', async () => {
    await releases.storedWorkers(1)
    await bed.kube.api.ok('PATCH', CONFIG_MAP, { data: { state: 'Updating', rollout: GONE } })
    await arrangeLease(GONE)

    const released = await releases.release(GONE)
    const again = await releases.releaseAgain(GONE)

    expect(released.state).toBe('Running')
    expect(await bed.leaseHolder()).toBeNull()
    expect(await bed.record()).toMatchObject({ state: 'Running' })
    expect(await bed.record()).not.toHaveProperty('rollout')
    expect(again).toEqual([])
  })

  it('CKS-24 a rollout whose cluster a person took over writes nothing more, and says what is there', async () => {
    await releases.storedWorkers(2)
    const former = await pausedRollout(bed, { pools: LARGE })
    await releases.release((await bed.leaseHolder()) ?? '')
    const next = await pausedRollout(bed, {}, 'the-next')
    const holder = await bed.leaseHolder()
    const record = await bed.record()
    const start = await bed.kube.audit.mark()

    await former.signal('resume')
    const end = await bed.endOf(former)

    expect(end).toMatchObject({ kind: 'failed', type: 'LeaseLost', result: { state: 'Updating' } })
    expect(await writesSince(bed, start)).toEqual([])
    expect(bed.acts(false)).toEqual([])
    expect(await bed.record()).toEqual(record)
    expect(await bed.leaseHolder()).toBe(holder)

    await next.signal('cancel')
    await bed.endOf(next)
  })

  it.each<[string, Record<string, string>, RegExp]>([
    ['another cluster', { identity: 'of-another-cluster' }, /identity of-another-cluster/],
    ['a cluster of another name', { cluster: 'staging' }, /known as staging, not prod/],
    ['a newer noderoll', { version: '2' }, /has version "2", and this noderoll understands 1/],
  ])('CKS-00 what is stored there of %s is left alone', async (_, data, says) => {
    await releases.storedWorkers(1)
    await bed.kube.api.ok('PATCH', CONFIG_MAP, { data: { ...data, state: 'Updating' } })
    await arrangeLease(GONE)
    const start = await bed.kube.audit.mark()

    const end = await releases.endOfRelease(GONE)

    expect(end).toMatchObject({ kind: 'failed' })
    expect(end).toHaveProperty('message', expect.stringMatching(says))
    expect(await writesSince(bed, start)).toEqual([])
    expect(await bed.leaseHolder()).toBe(GONE)
  })

  it('CKS-24 waits, after a takeover, until the former holder can no longer be at work; a cancel waits with it', async () => {
    await releases.storedWorkers(1)
    await patchNode(bed, 'w-1', {
      metadata: { annotations: marksLeft(await bed.node('w-1'), { boot: 'same' }) },
      spec: { unschedulable: true },
    })
    await arrangeLease(GONE)
    const proxy = await FaultProxy.start(bed.kube.access)
    await bed.reachThrough(proxy)
    const request = { ...bed.target(), takeOver: GONE }
    const taken = proxy.on({ method: 'PUT', path: `${LEASES}/noderoll` }, pass())
    // The last thing the step asks.
    proxy.on(
      ({ path }) => path === CONFIG_MAP && taken.hits.length > 0,
      async () => {
        await bed.client.workflow.getHandle('taking-over').cancel()
        return pass()
      },
      { times: 1 },
    )

    const handle = await bed.startType('releaseCluster', request, 'taking-over', releases.skipping)
    await bed.endOf(handle)
    await proxy.stop()
    await bed.reachThrough(null)

    const { events } = await handle.fetchHistory()
    const story = (events ?? []).flatMap((event) => {
      const activity = event.activityTaskScheduledEventAttributes?.activityType?.name
      const seconds = event.timerStartedEventAttributes?.startToFireTimeout?.seconds
      const fired = event.timerFiredEventAttributes
      return activity ?? (seconds === undefined ? (fired ? ['over'] : []) : `wait ${seconds} s`)
    })
    expect(story).toEqual(['checkTarget', 'lookForRelease', 'takeLease', 'wait 20 s', 'over', 'release'])
    expect(marksOf(await bed.node('w-1'))).toEqual([])
    expect(await bed.leaseHolder()).toBeNull()
  })

  it('CKS-21 keeps trying until everything is acknowledged', async () => {
    await releases.storedWorkers(1)
    const proxy = await FaultProxy.start(bed.kube.access)
    await bed.reachThrough(proxy)
    await patchNode(bed, 'w-1', {
      metadata: { annotations: marksLeft(await bed.node('w-1'), { boot: 'same' }) },
      spec: { unschedulable: true },
    })
    const unwritten = [/\/nodes\/w-1/, /\/configmaps\/noderoll/, /\/leases\/noderoll/].map((path) =>
      proxy.on(({ method, path: asked }) => method !== 'GET' && path.test(asked), answer(503, 'busy'), {
        times: 2,
      }),
    )

    const released = await releases.release()
    await proxy.stop()
    await bed.reachThrough(null)

    expect(unwritten.map(({ hits }) => hits.length)).toEqual([2, 2, 2])
    expect(released).toMatchObject({ state: 'Running' })
    expect(marksOf(await bed.node('w-1'))).toEqual([])
    expect(await bed.leaseHolder()).toBeNull()
  })
})
