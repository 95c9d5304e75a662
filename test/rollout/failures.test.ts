import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { MARK_KEYS } from '../../src/core/marks.js'
import {
  behindProxy,
  expectAsFound,
  found,
  isCordoned,
  nodeWrites,
  patchNode,
  stopMachine,
} from '../support/batch-nodes.js'
import { addBudget, evictions, podsOf, runWorkload } from '../support/batch-pods.js'
import { atLookOfAct } from '../support/drain-story.js'
import { type ProxiedRequest, pretend } from '../support/proxy.js'
import { marksOf, RolloutBed } from '../support/rollout-bed.js'

describe('a rollout that fails before an act', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
    bed.keepsWorker = true
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  const TO_LARGE = { pools: { worker: { offering: 'large' } } }

  /** Runs once, when noderoll looks at w-1 alone for the first time: the cordon's look. */
  function atLookOfCordon(happens: () => unknown): void {
    const unsubscribe = bed.cluster.cloud.onRequest({ call: 'get', machine: 'w-1' }, async () => {
      unsubscribe()
      await happens()
    })
  }

  it('K1 puts the others of the batch back when one node is gone before it is cordoned', async () => {
    await bed.startCluster({ workers: 3 })
    bed.cluster.kubelets.script('w-1', { doesNotRegister: true })
    const { 'w-1': gone, ...before } = await found(bed)
    atLookOfCordon(() => bed.kube.api.ok('DELETE', '/api/v1/nodes/w-1'))
    await bed.startWorker()

    const end = await bed.roll({ pools: { worker: { offering: 'large', maxUnavailable: 2 } } })

    expect(gone).toBeDefined()
    expect(end).toMatchObject({
      kind: 'failed',
      type: 'NodeChanged',
      message: expect.stringContaining('node w-1 is gone from the cluster; its machine was not touched'),
      result: { state: 'Alert' },
    })
    expect(bed.acts(false)).toEqual([])
    await expectAsFound(bed, before)
  })

  it('K1 touches nothing when another machine has taken the name of a node', async () => {
    await bed.startCluster({ workers: 2 })
    let position = Number.NaN
    atLookOfCordon(async () => {
      await bed.kube.api.ok('DELETE', '/api/v1/nodes/w-1')
      await bed.kube.api.ok('POST', '/api/v1/nodes', {
        metadata: { name: 'w-1' },
        spec: { providerID: 'simulated://prod/somebody-else' },
      })
      position = await bed.kube.audit.mark()
    })
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'NodeChanged',
      message: expect.stringMatching(/w-1 runs on simulated:\/\/prod\/somebody-else now, not on simulated:/),
    })
    expect(bed.acts(false)).toEqual([])
    // It may have tried on what it had read: the resourceVersion keeps the server from taking that.
    const accepted = (await nodeWrites(bed, position)).filter(({ code }) => code < 300)
    expect(accepted).toEqual([])
  })

  it('K1 does not stop a node that rebooted by itself after it was cordoned', async () => {
    await bed.startCluster({ workers: 2 })
    const before = await found(bed)
    const bootBefore = (await bed.node('w-1')).status.nodeInfo.bootID
    atLookOfAct(bed, 'w-1', async () => {
      bed.cluster.kubelets.reboot('w-1')
      await expect
        .poll(async () => (await bed.node('w-1')).status.nodeInfo.bootID, { timeout: 10_000 })
        .not.toBe(bootBefore)
    })
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'NodeChanged',
      message: expect.stringContaining('node w-1 rebooted by itself meanwhile; it was not stopped'),
      result: { state: 'Running', leftCordoned: [] },
    })
    expect(bed.acts(false)).toEqual([])
    await expectAsFound(bed, before)
  })

  it('K1 does not stop a node whose mark somebody has taken away', async () => {
    await bed.startCluster({ workers: 2 })
    const before = await found(bed)
    atLookOfAct(bed, 'w-1', () =>
      patchNode(bed, 'w-1', { metadata: { annotations: { [MARK_KEYS.attempt]: null } } }),
    )
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'NodeChanged',
      message: expect.stringContaining('no longer carries the mark of this batch'),
      result: { state: 'Running', leftCordoned: [] },
    })
    expect(bed.acts(false)).toEqual([])
    await expectAsFound(bed, before)
  })

  it.each<[string, string, (request: ProxiedRequest) => boolean]>([
    ['the cordon', 'cordon', ({ body }) => body.includes('"unschedulable":true')],
    ['the acting mark', 'stop', ({ body }) => body.includes(`"${MARK_KEYS.acting}":"`)],
  ])(
    'B34, K1 neither drains nor stops a node while %s is accepted and not stored',
    async (_what, step, drops) => {
      await bed.startCluster({ workers: 2 })
      const before = await found(bed)
      const { proxy, kubernetes } = await behindProxy(bed)
      proxy.on((request) => request.method === 'PATCH' && drops(request), pretend())
      const position = await bed.kube.audit.mark()
      await bed.startWorker()

      const end = await bed.roll({ ...TO_LARGE, kubernetes })

      expect(end).toMatchObject({ kind: 'failed', type: 'NodeChanged', result: { failed: [{ step }] } })
      expect(await evictions(bed.kube, position)).toEqual([])
      expect(bed.acts(false)).toEqual([])
      await expectAsFound(bed, before)
    },
  )

  it('K1 does not bring evicted pods back, and says so', async () => {
    await bed.startCluster({ workers: 2 })
    await runWorkload(bed.kube.api, 'Deployment', 'free', { on: 'w-1' })
    await runWorkload(bed.kube.api, 'Deployment', 'held', { on: 'w-1' })
    await addBudget(bed.kube.api, 'held', 1)
    const [free] = await podsOf(bed.kube.api, 'free')
    const before = await found(bed)
    await bed.startWorker()

    const end = await bed.roll({ ...TO_LARGE, drain: { timeout: '5s' } })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'DrainBlocked',
      result: {
        failed: [
          { node: 'w-1', outcome: 'its nodes were put back as found, evicted pods stay where they are now' },
        ],
      },
    })
    expect((await podsOf(bed.kube.api, 'free')).map(({ metadata }) => metadata.uid)).not.toContain(
      free?.metadata.uid,
    )
    await expectAsFound(bed, before)
  })

  it('K1 leaves a node as it was found that an earlier rollout had left with a failure mark', async () => {
    await bed.startCluster({ workers: 2 })
    bed.cluster.kubelets.script('w-1', { keepsBootId: true })
    await bed.startWorker()
    await bed.roll({ ...TO_LARGE, verify: { timeout: '2s', settle: 0 } })
    bed.cluster.cloud.machine('w-1').offering = 'small'
    await runWorkload(bed.kube.api, 'DaemonSet', 'agent', {
      on: 'w-1',
      tolerations: [{ operator: 'Exists' }],
    })
    const actsBefore = bed.acts(false)
    bed.cluster.cloud.faults.add({ call: 'stop', effect: { kind: 'status', status: 403 }, count: null })

    const end = await bed.roll(TO_LARGE)

    expect(end).toMatchObject({ kind: 'failed', type: 'MachineFailed', result: { state: 'Alert' } })
    expect(bed.acts(false)).toEqual([...actsBefore, 'stop w-1'])
    const node = await bed.node('w-1')
    expect(isCordoned(node)).toBe(true)
    expect(marksOf(node)).toContain(MARK_KEYS.failure)
  })

  it('CKS-25 reports a failure together with the nodes that were skipped', async () => {
    await bed.startCluster({ workers: 3 })
    await stopMachine(bed, 'w-3')
    await runWorkload(bed.kube.api, 'Deployment', 'held', { on: 'w-1' })
    await addBudget(bed.kube.api, 'held', 1)
    await bed.startWorker()

    const end = await bed.roll({ ...TO_LARGE, startStopped: false, drain: { timeout: '5s' } })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'DrainBlocked',
      message: expect.stringMatching(/budget default\/held needs 1 healthy, has 1.*Skipped: w-3/),
      result: {
        failed: [{ node: 'w-1', step: 'drain' }],
        skipped: [{ name: 'w-3', pool: 'worker', why: 'stopped, and startStopped is false' }],
      },
    })
    const lastError = (await bed.record())?.lastError
    expect(lastError).toMatch(/^drain failed: drain of w-1 did not end/)
    expect(lastError).toMatch(/skipped: w-3 \(stopped, and startStopped is false\)$/)
  })

  it('CKS-22, CKS-25 asks again after a failure: what is left is rolled, and lastError is cleared', async () => {
    await bed.startCluster({ workers: 2 })
    await runWorkload(bed.kube.api, 'Deployment', 'held', { on: 'w-2' })
    await addBudget(bed.kube.api, 'held', 1)
    await bed.startWorker()
    const first = await bed.roll({ ...TO_LARGE, drain: { timeout: '2s' } })
    await bed.kube.api.ok('DELETE', '/apis/policy/v1/namespaces/default/poddisruptionbudgets/held')
    bed.cluster.cloud.log.clear()

    const second = await bed.roll({ pools: {} })

    expect(first).toMatchObject({ kind: 'failed', result: { done: { names: ['w-1'] } } })
    expect(second).toMatchObject({
      kind: 'completed',
      result: { done: { names: ['w-2'] }, state: 'Running', lastError: null },
    })
    expect(bed.acts()).toEqual(['stop w-2', 'setOffering w-2', 'start w-2'])
    expect(await bed.record()).not.toHaveProperty('lastError')
  })
})
