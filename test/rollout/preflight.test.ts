import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Progress } from '../../src/core/progress.js'
import type { SimulatedEtcdMember } from '../../src/simulation/cloud-state.js'
import {
  AvailabilityWatch,
  behindProxy,
  expectAsFound,
  found,
  nodeWrites,
  patchNode,
  untilReadiness,
} from '../support/batch-nodes.js'
import { answer } from '../support/proxy.js'
import { RolloutBed } from '../support/rollout-bed.js'
import { waitUntil } from '../support/wait.js'

describe('preflight of a batch', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
    bed.keepsWorker = true
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  const TO_LARGE = { pools: { control: { offering: 'large' } } }
  const CONTROL = { ...TO_LARGE, preflight: { timeout: '1s' } }
  const ETCD = { select: { machines: ['e-1', 'e-2', 'e-3'] } }

  async function makeUnready(name: string): Promise<void> {
    bed.cluster.kubelets.script(name, { neverReady: true })
    await untilReadiness(bed, name, false)
  }

  function member(name: string): SimulatedEtcdMember {
    const { etcd } = bed.cluster.cloud.machine(name)
    if (etcd === null) throw new Error(`${name} has no etcd`)
    return etcd
  }

  it('CKS-12, K1 waits for a node that is not ready, says so in progress, and fails with nothing touched', async () => {
    await bed.startCluster({ workers: 3 })
    const before = await found(bed)
    await makeUnready('w-3')
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const handle = await bed.start(
      bed.spec({ pools: { worker: { offering: 'large' } }, preflight: { timeout: '15s' } }),
    )
    const waiting = await waitUntil(
      async () => {
        const progress = await handle.query<Progress>('progress')
        return progress.waitsFor.length > 0 && progress
      },
      { for: 'progress to say what is waited for' },
    )
    const end = await bed.endOf(handle)

    expect(waiting).toMatchObject({ phase: 'rolling', waitsFor: ['node w-3 is not ready'] })
    expect(end).toMatchObject({
      kind: 'failed',
      type: 'PreflightFailed',
      message: expect.stringMatching(/w-1 did not get through preflight in 15 s: node w-3 is not ready/),
      result: { failed: [{ node: 'w-1', step: 'preflight' }], state: 'Alert' },
    })
    expect(bed.acts(false)).toEqual([])
    expect(await nodeWrites(bed, position)).toEqual([])
    bed.cluster.kubelets.script('w-3', { neverReady: false })
    await untilReadiness(bed, 'w-3', true)
    await expectAsFound(bed, before)
  })

  it('CKS-12 goes on as soon as the node is ready, and no longer says that it waits', async () => {
    await bed.startCluster({ workers: 2 })
    await makeUnready('w-2')
    bed.cluster.cloud.state.delays.stopMs = 700
    await bed.startWorker()
    const handle = await bed.start(
      bed.spec({
        pools: { worker: { offering: 'large' } },
        preflight: { timeout: '60s' },
        batchTimeout: '120s',
      }),
    )
    await waitUntil(async () => (await handle.query<Progress>('progress')).waitsFor.length > 0, {
      for: 'progress to say what is waited for',
    })
    const whileStopping = new Promise<Progress>((resolve) => {
      bed.cluster.cloud.onRequest({ call: 'stop', machine: 'w-1' }, async () =>
        resolve(await handle.query<Progress>('progress')),
      )
    })

    bed.cluster.kubelets.script('w-2', { neverReady: false })
    const end = await bed.endOf(handle)

    expect(await whileStopping).toMatchObject({ waitsFor: [], nodes: [{ node: 'w-1', step: 'stop' }] })
    expect(end).toMatchObject({ kind: 'completed', result: { state: 'Running', done: { count: 2 } } })
  })

  it('CKS-12 tolerates tolerateUnready workers and counts them against maxUnavailable', async () => {
    await bed.startCluster({ workers: 4 })
    bed.cluster.cloud.machine('w-4').offering = 'large'
    await makeUnready('w-4')
    const watch = await AvailabilityWatch.start(bed)
    await bed.startWorker()

    const end = await bed.roll({
      pools: { worker: { offering: 'large', maxUnavailable: 2 } },
      preflight: { tolerateUnready: 1 },
    })

    expect(end).toMatchObject({
      kind: 'completed',
      result: { done: { names: ['w-1', 'w-2', 'w-3'] }, state: 'Alert' },
    })
    expect(await watch.stop()).toHaveLength(2)
  })

  it('CKS-12 does not tolerate one unready worker more than that, nor an unready control node', async () => {
    await bed.startCluster({ control: 3, workers: 2 })
    await makeUnready('c-3')
    await bed.startWorker()

    const end = await bed.roll({
      pools: { control: {}, worker: { offering: 'large' } },
      preflight: { timeout: '1s', tolerateUnready: 1 },
    })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'PreflightFailed',
      message: expect.stringContaining('node c-3 is not ready'),
    })
    expect(bed.acts(false)).toEqual([])
  })

  it.each([
    ['unhealthy', { healthy: false, reason: 'NOSPACE' }, 'c-3 is unhealthy'],
    ['a learner', { learner: true }, 'c-3 is a learner'],
    ['behind', { lag: 5_000 }, 'c-3 lags '],
    ['missing', { listed: false }, 'c-3 is missing from the member list'],
    ['unreachable', { joinMs: 3_600_000 }, 'c-3 is unreachable'],
  ])('CKS-13, B07 touches no other node while the etcd member of c-3 is %s', async (_state, sick, said) => {
    await bed.startCluster({ control: 3, workers: 0 })
    Object.assign(member('c-3'), sick)
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll(CONTROL)

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'PreflightFailed',
      message: expect.stringContaining(`etcd would keep 1 healthy voters of 3, needs 2 (${said}`),
    })
    expect(bed.acts(false)).toEqual([])
    expect(await nodeWrites(bed, position)).toEqual([])
  })

  it('CKS-13, B07 rolls the very node whose member is down, since the other two hold the quorum', async () => {
    await bed.startCluster({ control: 3, workers: 0 })
    const { cloud } = bed.cluster
    for (const name of ['c-1', 'c-2']) cloud.machine(name).offering = 'large'
    member('c-3').healthy = false
    cloud.onRequest({ call: 'start', machine: 'c-3' }, () => {
      member('c-3').healthy = true
    })
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['c-3'] } } })
  })

  it('CKS-00, B07 refuses to roll while the Node of an expected member is missing', async () => {
    await bed.startCluster({ control: 3, workers: 0 })
    bed.cluster.kubelets.script('c-3', { doesNotRegister: true })
    await bed.kube.api.ok('DELETE', '/api/v1/nodes/c-3')
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll(CONTROL)

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'SettingsRefused',
      message: expect.stringContaining('machine c-3 is running and has no Node'),
    })
    expect(bed.acts(false)).toEqual([])
    expect(await bed.kube.audit.writes(position, 'noderoll')).toEqual([])
  })

  it.each([
    [
      'cordoned',
      { spec: { unschedulable: true } },
      { spec: { unschedulable: false } },
      'control node c-3 is cordoned; uncordon it when whoever cordoned it is done',
    ],
    [
      'taken down by another tool',
      { metadata: { annotations: { 'weave.works/kured-reboot-in-progress': 'now' } } },
      { metadata: { annotations: { 'weave.works/kured-reboot-in-progress': null } } },
      'control node c-3 is being taken down by kured (annotation weave.works/kured-reboot-in-progress); wait for its end',
    ],
  ])(
    'CKS-12 stops no control node while another one is %s, and goes on when it is free again',
    async (_what, taken, freed, why) => {
      await bed.startCluster({ control: 3, workers: 0 })
      for (const name of ['c-1', 'c-3']) bed.cluster.cloud.machine(name).offering = 'large'
      await patchNode(bed, 'c-3', taken)
      const position = await bed.kube.audit.mark()
      await bed.startWorker()

      const refused = await bed.roll(CONTROL)
      const writesBefore = await nodeWrites(bed, position)
      const actsBefore = bed.acts(false)
      const handle = await bed.start(bed.spec({ ...CONTROL, preflight: { timeout: '30s' } }))
      const { waitsFor } = await waitUntil(
        async () => {
          const progress = await handle.query<Progress>('progress')
          return progress.waitsFor.length > 0 && progress
        },
        { for: 'progress to say what is waited for' },
      )
      await patchNode(bed, 'c-3', freed)
      const end = await bed.endOf(handle)

      expect(refused).toMatchObject({
        kind: 'failed',
        type: 'PreflightFailed',
        message: expect.stringContaining(why),
      })
      expect([writesBefore, actsBefore]).toEqual([[], []])
      expect(waitsFor).toEqual([why])
      expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['c-2'] } } })
    },
  )

  it('CKS-13, K1 does not stop a control node when another member falls ill between preflight and stop', async () => {
    await bed.startCluster({ control: 3, workers: 0 })
    const before = await found(bed)
    // The first time that noderoll looks at c-2 alone (c-1 leads and goes last) is when it cordons it: preflight is over.
    const unsubscribe = bed.cluster.cloud.onRequest(
      { call: 'get', machine: 'c-2' },
      () => {
        unsubscribe()
        member('c-3').healthy = false
      },
      'arrival',
    )
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'PreflightFailed',
      message: expect.stringMatching(/c-2 was not stopped: etcd would keep 1 healthy voters of 3, needs 2/),
      result: { failed: [{ node: 'c-2', step: 'stop' }], leftCordoned: [] },
    })
    expect(bed.acts(false)).toEqual([])
    await expectAsFound(bed, before)
  })

  it('CKS-13 does not stop an external etcd member while another one is ill', async () => {
    await bed.startCluster({ control: 1, etcd: 3, workers: 0 })
    member('e-3').healthy = false
    await bed.startWorker()

    const end = await bed.roll({
      pools: { etcd: { ...ETCD, offering: 'large' }, control: {} },
      preflight: { timeout: '1s' },
    })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'PreflightFailed',
      message: expect.stringContaining('etcd would keep 1 healthy voters of 3, needs 2 (e-3 is unhealthy)'),
    })
    expect(bed.acts(false)).toEqual([])
  })

  it('CKS-13 with external etcd touches a control node only while another one serves the API', async () => {
    await bed.startCluster({ control: 2, etcd: 3, workers: 0 })
    const { apiServer } = bed.cluster.cloud.machine('c-2')
    if (apiServer === null) throw new Error('c-2 has no API server')
    Object.assign(apiServer, { ready: false, reason: '[-]poststarthook failed' })
    await bed.startWorker()

    const refused = await bed.roll({
      pools: { control: { offering: 'large' }, etcd: ETCD },
      preflight: { timeout: '1s' },
    })
    const actsBefore = bed.acts(false)
    bed.cluster.cloud.machine('c-1').offering = 'large'
    bed.cluster.cloud.onRequest({ call: 'start', machine: 'c-2' }, () => {
      apiServer.ready = true
    })
    const rolled = await bed.roll({ pools: { control: { offering: 'large' }, etcd: ETCD } })

    expect(refused).toMatchObject({
      kind: 'failed',
      type: 'PreflightFailed',
      message: expect.stringContaining('no other control node serves the API (c-2: /readyz of c-2: 500'),
    })
    expect(actsBefore).toEqual([])
    // c-2 itself, the one that serves nothing, may go.
    expect(rolled).toMatchObject({ kind: 'completed', result: { done: { names: ['c-2'] } } })
  })

  it.each([
    ['fails', answer(500, '[-]etcd failed'), /etcd readiness .* is notOk/],
    ['is unknown', answer(403, 'no'), /etcd readiness .* is unknown/],
  ])(
    'CKS-13 touches no control node while etcd readiness of the API server %s',
    async (_said, readyz, why) => {
      await bed.startCluster({ control: 3, workers: 0 })
      const { proxy, kubernetes } = await behindProxy(bed)
      proxy.on({ path: '/readyz/etcd' }, readyz)
      await bed.startWorker()

      const end = await bed.roll({ ...CONTROL, kubernetes })

      expect(end).toMatchObject({
        kind: 'failed',
        type: 'PreflightFailed',
        message: expect.stringMatching(why),
      })
      expect(bed.acts(false)).toEqual([])
    },
  )
})
