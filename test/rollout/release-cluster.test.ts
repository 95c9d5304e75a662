import type { WorkflowHandle } from '@temporalio/client'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { MARK_KEYS } from '../../src/core/marks.js'
import { Releases } from '../support/releases.js'
import { CLUSTER, marksOf, type RolloutBed } from '../support/rollout-bed.js'
import { writesSince } from '../support/story-world.js'
import { waitUntil } from '../support/wait.js'

const LARGE = { worker: { offering: 'large' } } as const

let releases: Releases
let bed: RolloutBed

beforeAll(async () => {
  releases = await Releases.open()
  bed = releases.bed
})
afterEach(() => bed.clean())
afterAll(() => releases.close())

describe('releaseCluster, after a rollout', () => {
  it('CKS-21 that succeeded has nothing to do, twice', async () => {
    await releases.storedWorkers(2)
    await bed.roll({ pools: LARGE })
    const start = await bed.kube.audit.mark()

    const released = await releases.release()
    const again = await releases.releaseAgain()

    expect(released).toMatchObject({ state: 'Running', givenBack: [], leftCordoned: [], lastError: null })
    expect(await writesSince(bed, start)).toEqual([])
    expect(again).toEqual([])
  })

  it('CKS-21 whose drain failed keeps state and lastError, and writes nothing the second time', async () => {
    await releases.storedWorkers(2)
    await bed.kube.api.ok('POST', '/api/v1/namespaces/default/pods', {
      metadata: { name: 'bare' },
      spec: { nodeName: 'w-1', containers: [{ name: 'c', image: 'i' }] },
    })
    const end = await bed.roll({ pools: LARGE })

    const released = await releases.release()
    const again = await releases.releaseAgain()

    expect(end).toMatchObject({ kind: 'failed', type: 'DrainRefused' })
    expect(released).toMatchObject({
      state: 'Running',
      leftCordoned: [],
      lastError: expect.stringContaining('default/bare'),
    })
    expect(again).toEqual([])
    expect((await bed.nodes()).flatMap(marksOf)).toEqual([])
  })

  it('CKS-21 whose machine did not start leaves it marked and cordoned, and writes nothing the second time', async () => {
    await releases.storedWorkers(2)
    bed.cluster.cloud.faults.add({
      call: 'start',
      machine: 'w-1',
      effect: { kind: 'operationFails', message: 'no power in rack 7' },
      count: null,
    })
    const end = await bed.roll({ pools: LARGE })

    const released = await releases.release()
    const again = await releases.releaseAgain()

    expect(end).toMatchObject({ kind: 'failed', type: 'MachineFailed' })
    expect(released).toMatchObject({
      state: 'Alert',
      leftCordoned: [{ name: 'w-1', why: expect.stringContaining('failed in start') }],
      lastError: expect.stringContaining('no power in rack 7'),
    })
    expect(again).toEqual([])
    const node = await bed.node('w-1')
    expect(node.spec.unschedulable).toBe(true)
    expect(marksOf(node)).toContain(MARK_KEYS.failure)
  })

  it('CKS-20, CKS-21 that was cancelled has nothing to do, twice', async () => {
    await releases.storedWorkers(2)
    bed.cluster.cloud.onRequest({ call: 'stop', machine: 'w-1' }, () =>
      bed.client.workflow.getHandle(`cluster-rollout/${CLUSTER}`).signal('cancel', { by: 'ana' }),
    )
    const end = await bed.roll({ pools: LARGE })

    const released = await releases.release()
    const again = await releases.releaseAgain()

    expect(end).toMatchObject({
      kind: 'completed',
      result: { outcome: 'cancelled', done: { names: ['w-1'] } },
    })
    expect(released).toMatchObject({
      state: 'Running',
      lastError: expect.stringMatching(/^cancelled by ana/),
    })
    expect(again).toEqual([])
  })

  it('CKS-24 that was terminated before its first act gives the node back, and writes nothing the second time', async () => {
    await releases.storedWorkers(2)
    await bed.kube.api.ok('POST', '/api/v1/namespaces/default/pods', {
      metadata: { name: 'slow', finalizers: ['example.com/held'] },
      spec: { nodeName: 'w-1', containers: [{ name: 'c', image: 'i' }] },
    })
    const rollout = await bed.start(bed.spec({ pools: LARGE, drain: { timeout: '50s', barePods: 'evict' } }))
    await waitUntil(
      async () =>
        (await bed.kube.api.ok('GET', '/api/v1/namespaces/default/pods/slow')).metadata.deletionTimestamp,
      { for: 'an eviction' },
    )
    await rollout.terminate('somebody was in a hurry')

    const released = await releases.release()
    const again = await releases.releaseAgain()

    expect(released).toMatchObject({ state: 'Running', givenBack: ['w-1'], leftCordoned: [] })
    expect(again).toEqual([])
    const node = await bed.node('w-1')
    expect(node.spec.unschedulable ?? false).toBe(false)
    expect(marksOf(node)).toEqual([])
    expect(await bed.leaseHolder()).toBeNull()
    expect(bed.acts(false)).toEqual([])
  })

  it('CKS-24 that was terminated after a stop leaves the node cordoned and starts nothing', async () => {
    await releases.storedWorkers(2)
    const started: WorkflowHandle[] = []
    bed.cluster.cloud.onRequest({ call: 'stop', machine: 'w-1' }, async () => {
      await started[0]?.terminate('somebody was in a hurry')
    })
    started.push(await bed.start(bed.spec({ pools: LARGE })))
    await bed.cluster.cloud.untilMachine('w-1', 'is off', ({ power }) => power === 'stopped')
    await waitUntil(async () => (await started[0]?.describe())?.status.name === 'TERMINATED', {
      for: 'the end of the rollout',
    })

    const released = await releases.release()
    const again = await releases.releaseAgain()

    expect(released).toMatchObject({
      state: 'Alert',
      givenBack: [],
      leftCordoned: [{ name: 'w-1', why: expect.stringContaining('stop was under way') }],
    })
    expect(again).toEqual([])
    expect((await bed.node('w-1')).spec.unschedulable).toBe(true)
    expect(bed.acts(false)).toEqual(['stop w-1'])
  })
})
