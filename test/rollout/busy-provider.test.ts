import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { RequestHook } from '../../src/simulation/cloud-requests.js'
import { expectAsFound, found, isCordoned, nodeWrites, patchNode } from '../support/batch-nodes.js'
import { bindTo, evictions, podsOf, runWorkload } from '../support/batch-pods.js'
import { marksOf, RolloutBed } from '../support/rollout-bed.js'

describe('a stop that the provider is too busy for', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  const TO_LARGE = { pools: { worker: { offering: 'large' } } }
  const CONTROL_TO_LARGE = { pools: { control: { offering: 'large' }, worker: {} } }
  const BUSY = { kind: 'status', status: 409, code: 'OperationInProgress', message: 'a backup' } as const

  /** Answers 409 to stops of a machine; runs `meanwhile` before the first of these answers. */
  function refuseStops(
    machine: string,
    count: number | null,
    meanwhile: RequestHook = () => undefined,
  ): void {
    bed.cluster.cloud.faults.add({ call: 'stop', machine, effect: BUSY, count })
    const unsubscribe = bed.cluster.cloud.onRequest(
      { call: 'stop', machine },
      async (request) => {
        unsubscribe()
        await meanwhile(request)
      },
      'arrival',
    )
  }

  it('CKS-16 drains a node again that was uncordoned meanwhile and has got a pod, and only then stops it', async () => {
    await bed.startCluster({ workers: 1 })
    await runWorkload(bed.kube.api, 'Deployment', 'newcomer', {
      on: { stage: 'nowhere' },
      untilReady: false,
    })
    const [newcomer] = await podsOf(bed.kube.api, 'newcomer')
    refuseStops('w-1', 1, async () => {
      await patchNode(bed, 'w-1', { spec: { unschedulable: false } })
      await bindTo(bed.kube.api, newcomer, 'w-1')
    })
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', state: 'Running' } })
    const evicted = (await evictions(bed.kube, position)).filter(({ code }) => code === 201)
    expect(evicted.map(({ name }) => name)).toEqual([newcomer?.metadata.name])
    const [refused, taken, ...more] = bed.cluster.cloud.log.acts().filter(({ call }) => call === 'stop')
    expect([refused?.status, taken?.effective, more]).toEqual([409, true, []])
    expect(taken?.at).toBeGreaterThanOrEqual(evicted[0]?.time ?? Number.POSITIVE_INFINITY)
    const node = await bed.node('w-1')
    expect([marksOf(node), isCordoned(node)]).toEqual([[], false])
  })

  it('CKS-13, K1 does not stop a control node when another etcd member has become unhealthy meanwhile', async () => {
    await bed.startCluster({ control: 3, workers: 1 })
    const before = await found(bed)
    // c-1 leads, so that c-2 is the first.
    refuseStops('c-2', 1, () => bed.cluster.cloud.scriptEtcd('c-3', { healthy: false, reason: 'disk' }))
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll(CONTROL_TO_LARGE)

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'PreflightFailed',
      message: expect.stringMatching(/c-2 was not stopped: .*c-3 is unhealthy.*put back as found/),
      result: { done: { count: 0 }, leftCordoned: [], failed: [{ node: 'c-2', step: 'stop' }] },
    })
    expect(bed.acts(false)).toEqual(['stop c-2'])
    expect(bed.acts()).toEqual([])
    for (const other of ['c-1', 'c-3', 'w-1']) expect(await nodeWrites(bed, position, other)).toEqual([])
    await expectAsFound(bed, before)
  })

  it('CKS-13 asks again when nobody can tell how a member is, right before the stop, and goes on when it answers', async () => {
    await bed.startCluster({ control: 3, workers: 1 })
    const { cloud } = bed.cluster
    // After preflight, when the node is looked at to be cordoned: the next two who ask c-3 for its health hear nothing.
    const unsubscribe = cloud.onRequest({ call: 'get', machine: 'c-2' }, () => {
      unsubscribe()
      cloud.faults.add({ call: 'etcdHealth', machine: 'c-3', effect: { kind: 'answerLost' }, count: 2 })
    })
    await bed.startWorker()

    const end = await bed.roll(CONTROL_TO_LARGE)

    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', done: { count: 3 } } })
    expect(cloud.faults.list()).toEqual([])
    expect(bed.acts(false)).toEqual(
      ['c-2', 'c-3', 'c-1'].flatMap((name) => [`stop ${name}`, `setOffering ${name}`, `start ${name}`]),
    )
  })

  it('K1 that is never taken leaves the node as found: not cordoned, no mark, no failure mark', async () => {
    await bed.startCluster({ workers: 2 })
    const before = await found(bed)
    refuseStops('w-1', null)
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll({ ...TO_LARGE, machineTimeout: '4s' })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'OutcomeUnknown',
      message: expect.stringMatching(
        /stop of w-1 did not end in the time it has \(machineTimeout\): .*its nodes were put back as found/,
      ),
      result: { done: { count: 0 }, leftCordoned: [], state: 'Running' },
    })
    expect(new Set(bed.acts(false))).toEqual(new Set(['stop w-1']))
    expect(bed.acts()).toEqual([])
    expect(await nodeWrites(bed, position, 'w-2')).toEqual([])
    await expectAsFound(bed, before)
  })
})
