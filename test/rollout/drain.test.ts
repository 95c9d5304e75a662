import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { AuditRecord } from '../support/audit.js'
import { stepsOpenAt } from '../support/batch-history.js'
import { expectAsFound, found, labelNodes, nodeWrites } from '../support/batch-nodes.js'
import { addBarePod, addBudget, evictions, PODS, podsOf, runWorkload } from '../support/batch-pods.js'
import { goneAt, onlyW1OutOfDate, stoppedAt, untilEvictionOf } from '../support/drain-story.js'
import { RolloutBed } from '../support/rollout-bed.js'
import { waitUntil } from '../support/wait.js'

describe('the drain of a node', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
    bed.keepsWorker = true
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  const TO_LARGE = { pools: { worker: { offering: 'large' } } }

  /** A StatefulSet whose pod runs on w-1, and comes back on w-2 before the machine of w-1 is stopped. */
  async function runWeb(): Promise<void> {
    await labelNodes(bed, ['w-1'], { stage: 'a' })
    await runWorkload(bed.kube.api, 'StatefulSet', 'web', { on: { stage: 'a' } })
    const [pod] = await podsOf(bed.kube.api, 'web')
    expect(pod?.spec.nodeName).toBe('w-1')
    await labelNodes(bed, ['w-2'], { stage: 'a' })
    const isBack = async () => {
      const [now] = await podsOf(bed.kube.api, 'web')
      return now?.metadata.uid !== pod?.metadata.uid && now?.spec.nodeName !== undefined
    }
    bed.cluster.cloud.onRequest(
      { call: 'stop', machine: 'w-1' },
      async () => void (await waitUntil(isBack, { for: 'the pod to be back' })),
      'arrival',
    )
  }

  function uidIn(eviction: AuditRecord): unknown {
    return eviction.requestBody?.deleteOptions?.preconditions?.uid
  }

  it('B15, CKS-16, CKS-26, K1 fails when a budget never allows an eviction: node as found, no act, no other node written to', async () => {
    await bed.startCluster({ workers: 3 })
    await runWorkload(bed.kube.api, 'Deployment', 'held', { on: 'w-1' })
    await addBudget(bed.kube.api, 'held', 1)
    const [pod] = await podsOf(bed.kube.api, 'held')
    const before = await found(bed)
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll({ ...TO_LARGE, drain: { timeout: '5s' } })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'DrainBlocked',
      message: expect.stringContaining(
        `budget default/held needs 1 healthy, has 1; holds 1 pod: default/${pod?.metadata.name}`,
      ),
      result: {
        done: { count: 0 },
        failed: [{ node: 'w-1', step: 'drain', outcome: expect.stringContaining('put back as found') }],
        leftCordoned: [],
        state: 'Running',
        pools: [{ pool: 'worker', machines: 3, outOfDate: 3, unavailable: 0 }],
      },
    })
    expect(bed.acts(false)).toEqual([])
    expect(await nodeWrites(bed, position, 'w-2')).toEqual([])
    expect(await nodeWrites(bed, position, 'w-3')).toEqual([])
    expect((await evictions(bed.kube, position)).map(({ code }) => code)).not.toContain(201)
    expect((await podsOf(bed.kube.api, 'held')).map(({ metadata }) => metadata.uid)).toEqual([
      pod?.metadata.uid,
    ])
    await expectAsFound(bed, before)
    expect(await bed.leaseHolder()).toBeNull()
  })

  it('CKS-16, K1 ends the drains of the other nodes when one fails, and only then puts all of them back', async () => {
    await bed.startCluster({ workers: 3 })
    for (const node of ['w-1', 'w-2']) {
      await runWorkload(bed.kube.api, 'Deployment', `held-${node}`, { on: node })
      await addBudget(bed.kube.api, `held-${node}`, 1)
    }
    const before = await found(bed)
    const position = await bed.kube.audit.mark()
    await bed.startWorker()
    const handle = await bed.start(bed.spec({ pools: { worker: { offering: 'large', maxUnavailable: 2 } } }))
    await untilEvictionOf(bed, 'held-w-1', position)
    await untilEvictionOf(bed, 'held-w-2', position)

    await addBarePod(bed.kube.api, 'debug', 'w-1')
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'DrainRefused',
      message: expect.stringMatching(/drain of w-1 is refused: pod default\/debug has no controller/),
      result: { failed: [{ node: 'w-1', step: 'drain' }], leftCordoned: [] },
    })
    const { events } = await handle.fetchHistory()
    expect(events?.filter((event) => event.activityTaskCanceledEventAttributes)).toHaveLength(1)
    expect(await stepsOpenAt(handle, 'undoNodes')).toEqual([])
    expect(bed.acts(false)).toEqual([])
    const uncordons = (await nodeWrites(bed, position)).filter(
      ({ requestBody, code }) => code === 200 && requestBody.spec?.unschedulable === false,
    )
    expect(uncordons.map(({ name }) => name).sort()).toEqual(['w-1', 'w-2'])
    const lastEviction = Math.max(...(await evictions(bed.kube, position)).map(({ time }) => time))
    expect(lastEviction).toBeLessThanOrEqual(Math.min(...uncordons.map(({ time }) => time)))
    await expectAsFound(bed, before)
  })

  it('CKS-16, K1 evicts nothing at all when a pod may not be evicted', async () => {
    await bed.startCluster({ workers: 2 })
    await runWorkload(bed.kube.api, 'Deployment', 'web', { on: 'w-1', replicas: 2 })
    await addBarePod(bed.kube.api, 'debug', 'w-1')
    const before = await found(bed)
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'DrainRefused',
      message: expect.stringContaining('allow it in the spec (drain.barePods, drain.emptyDir)'),
    })
    expect(await evictions(bed.kube, position)).toEqual([])
    expect(bed.acts(false)).toEqual([])
    await expectAsFound(bed, before)
  })

  it('CKS-16 stops no machine of a batch before all of its drains have succeeded', async () => {
    await bed.startCluster({ workers: 3 })
    await runWorkload(bed.kube.api, 'Deployment', 'slow', { on: 'w-2', graceSeconds: 2 })
    const [pod] = await podsOf(bed.kube.api, 'slow')
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll({ pools: { worker: { offering: 'large', maxUnavailable: 2 } } })

    expect(end).toMatchObject({ kind: 'completed', result: { done: { count: 3 } } })
    const slowEnd = await goneAt(bed, position, pod?.metadata.name)
    expect(stoppedAt(bed, 'w-1')).toBeGreaterThanOrEqual(slowEnd)
    expect(stoppedAt(bed, 'w-2')).toBeGreaterThanOrEqual(slowEnd)
  })

  it('B01 is done when the UID is gone, though a StatefulSet pod of the same name runs elsewhere', async () => {
    await bed.startCluster({ workers: 3 })
    onlyW1OutOfDate(bed)
    await runWeb()
    const [old] = await podsOf(bed.kube.api, 'web')
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1'] } } })
    const asked = await evictions(bed.kube, position)
    expect(asked.map((eviction) => [eviction.name, eviction.code, uidIn(eviction)])).toEqual([
      ['web-0', 201, old?.metadata.uid],
    ])
    const [replacement] = await podsOf(bed.kube.api, 'web')
    expect(replacement).toMatchObject({ metadata: { name: 'web-0' }, spec: { nodeName: 'w-2' } })
    expect(replacement?.metadata.uid).not.toBe(old?.metadata.uid)
    expect(replacement?.metadata.deletionTimestamp).toBeUndefined()
  })

  it('B01 does not evict the replacement when somebody else moves a pod whose eviction is refused', async () => {
    await bed.startCluster({ workers: 3 })
    onlyW1OutOfDate(bed)
    await runWeb()
    await addBudget(bed.kube.api, 'web', 1)
    const [old] = await podsOf(bed.kube.api, 'web')
    const position = await bed.kube.audit.mark()
    await bed.startWorker()
    const handle = await bed.start(bed.spec(TO_LARGE))
    await untilEvictionOf(bed, 'web-0', position)

    const movedAt = Date.now()
    await bed.kube.api.ok('DELETE', `${PODS}/web-0`)
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1'] } } })
    const asked = await evictions(bed.kube, position)
    expect(new Set(asked.map(uidIn))).toEqual(new Set([old?.metadata.uid]))
    expect(asked.map(({ code }) => code)).not.toContain(201)
    // Long before the 20 s that the drain has.
    expect((stoppedAt(bed, 'w-1') ?? Number.NaN) - movedAt).toBeLessThan(8_000)
    const [replacement] = await podsOf(bed.kube.api, 'web')
    expect(replacement?.spec.nodeName).toBe('w-2')
    expect(replacement?.metadata.deletionTimestamp).toBeUndefined()
  })

  it('B02 stops a machine only after its terminating pods are gone, and waits for no DaemonSet pod', async () => {
    await bed.startCluster({ workers: 2 })
    onlyW1OutOfDate(bed)
    await runWorkload(bed.kube.api, 'Deployment', 'slow', { on: 'w-1', graceSeconds: 3 })
    await runWorkload(bed.kube.api, 'DaemonSet', 'agent', {
      on: 'w-1',
      annotations: { 'simulation.noderoll.io/ignores-termination': 'true' },
    })
    const [slow] = await podsOf(bed.kube.api, 'slow')
    const [agent] = await podsOf(bed.kube.api, 'agent')
    await bed.kube.api.ok('DELETE', `${PODS}/${agent?.metadata.name}`)
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1'] } } })
    const slowEnd = await goneAt(bed, position, slow?.metadata.name)
    expect(stoppedAt(bed, 'w-1')).toBeGreaterThanOrEqual(slowEnd)
    expect((await evictions(bed.kube, position)).map(({ name }) => name)).toEqual([slow?.metadata.name])
  })

  it('B02, K1 names pod and finalizer when a finalizer keeps a pod, and never takes the finalizer away', async () => {
    await bed.startCluster({ workers: 2 })
    await runWorkload(bed.kube.api, 'Deployment', 'sticky', {
      on: 'w-1',
      finalizers: ['example.com/hold'],
    })
    const [pod] = await podsOf(bed.kube.api, 'sticky')
    const before = await found(bed)
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll({ ...TO_LARGE, drain: { timeout: '5s' } })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'DrainBlocked',
      message: expect.stringContaining(
        `pod default/${pod?.metadata.name} is terminating, held by finalizer example.com/hold`,
      ),
    })
    const still = await bed.kube.api.ok('GET', `${PODS}/${pod?.metadata.name}`)
    expect(still.metadata.finalizers).toEqual(['example.com/hold'])
    expect((await evictions(bed.kube, position)).map(({ name }) => name)).toEqual([pod?.metadata.name])
    const writes = await bed.kube.audit.writes(position, 'noderoll')
    expect(writes.filter(({ resource, subresource }) => resource === 'pods' && subresource === '')).toEqual(
      [],
    )
    expect(bed.acts(false)).toEqual([])
    await expectAsFound(bed, before)
  })
})
