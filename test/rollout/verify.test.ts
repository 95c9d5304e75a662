import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { MARK_KEYS } from '../../src/core/marks.js'
import {
  behindProxy,
  eventsOn,
  isCordoned,
  isReady,
  NodeWatch,
  nodeWrites,
  openTooEarly,
} from '../support/batch-nodes.js'
import { PODS, podsOf, runWorkload } from '../support/batch-pods.js'
import { pass } from '../support/proxy.js'
import { type Node, RolloutBed } from '../support/rollout-bed.js'
import { waitUntil } from '../support/wait.js'

describe('the verify of a node', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
    bed.keepsWorker = true
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  const TO_LARGE = { pools: { worker: { offering: 'large' } } }
  const IMPATIENT = { ...TO_LARGE, verify: { timeout: '2s', settle: 0 } }
  /** Long enough for the node to be back but for what is wrong with it. */
  const PATIENT = { ...TO_LARGE, verify: { timeout: '5s', settle: 0 } }

  async function bootIdOf(name: string): Promise<string> {
    return (await bed.node(name)).status.nodeInfo.bootID
  }

  it('B10 gives a node back that was never seen NotReady, by its new boot id, whatever its clock says', async () => {
    await bed.startCluster({ workers: 2, delays: { bootMs: 1_000 } })
    bed.cluster.cloud.machine('w-2').offering = 'large'
    bed.cluster.kubelets.script('w-1', { fastReboot: true, clockAheadMs: 600_000 })
    const bootBefore = await bootIdOf('w-1')
    const unready: Node[] = []
    const early: Node[] = []
    let cordoned = false
    const watch = await NodeWatch.start(bed, (node) => {
      if (node.metadata.name !== 'w-1') return
      if (!isReady(node)) unready.push(node)
      cordoned ||= isCordoned(node)
      if (cordoned && openTooEarly(node, bootBefore)) early.push(node)
    })
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)
    await watch.stop()

    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1'] }, state: 'Running' } })
    expect(unready).toEqual([])
    expect(early).toEqual([])
    expect(await bootIdOf('w-1')).not.toBe(bootBefore)
  })

  it('B10 does not take a Ready left over from before the stop for success', async () => {
    await bed.startCluster({
      workers: 2,
      delays: { bootMs: 1_500 },
      kubelets: { markNotReadyAtOnce: false },
    })
    bed.cluster.cloud.machine('w-2').offering = 'large'
    bed.cluster.kubelets.script('w-1', { notReadyMs: 1_500, clockAheadMs: 600_000 })
    const bootBefore = await bootIdOf('w-1')
    const early: Node[] = []
    let cordoned = false
    const watch = await NodeWatch.start(bed, (node) => {
      if (node.metadata.name !== 'w-1') return
      cordoned ||= isCordoned(node)
      if (cordoned && openTooEarly(node, bootBefore)) early.push(node)
    })
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)
    await watch.stop()

    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1'] } } })
    expect(early).toEqual([])
    expect(isCordoned(await bed.node('w-1'))).toBe(false)
  })

  it.each([
    ['is never Ready', { neverReady: true }, 'it is not ready'],
    [
      'comes back with the boot id it had',
      { keepsBootId: true },
      'its boot id is the one from before the stop',
    ],
  ])('CKS-18, K2 leaves a node with a failure mark that %s', async (_situation, oddity, said) => {
    await bed.startCluster({ workers: 3 })
    bed.cluster.cloud.onRequest({ call: 'start', machine: 'w-1' }, () =>
      bed.cluster.kubelets.script('w-1', oddity),
    )
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll(PATIENT)

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'VerifyFailed',
      message: expect.stringContaining(`w-1 is not back after 5 s: w-1: ${said}`),
      result: { failed: [{ node: 'w-1', step: 'verify' }], leftCordoned: [{ name: 'w-1' }], state: 'Alert' },
    })
    const node = await bed.node('w-1')
    expect(isCordoned(node)).toBe(true)
    expect(JSON.parse(node.metadata.annotations?.[MARK_KEYS.failure] ?? '{}')).toMatchObject({
      step: 'verify',
      reason: expect.stringContaining(said),
      machine: 'running, offering large, root disk 50 GiB',
    })
    expect(bed.acts()).toEqual(['stop w-1', 'setOffering w-1', 'start w-1'])
    for (const other of ['w-2', 'w-3']) expect(await nodeWrites(bed, position, other)).toEqual([])
  })

  it('CKS-18 does not take a machine for done that differs from the settings after all', async () => {
    await bed.startCluster({ workers: 2 })
    bed.cluster.cloud.onRequest({ call: 'start', machine: 'w-1' }, () => {
      bed.cluster.cloud.machine('w-1').offering = 'huge'
    })
    await bed.startWorker()

    const end = await bed.roll(IMPATIENT)

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'VerifyFailed',
      message: expect.stringContaining('its machine still differs: offering huge → large'),
    })
    expect(isCordoned(await bed.node('w-1'))).toBe(true)
  })

  it.each([
    ['its etcd member lags ', { lag: 5_000 }, {}],
    ['its etcd member is a learner', { learner: true }, {}],
    ['its etcd member is unhealthy', { healthy: false }, {}],
    ['its API server is not ready: /readyz of c-2: 500', {}, { ready: false, reason: 'starting' }],
  ])('CKS-18 does not go on to the next control node while %s', async (said, sick, api) => {
    await bed.startCluster({ control: 3, workers: 0 })
    // c-1 leads and goes last.
    const { etcd, apiServer } = bed.cluster.cloud.machine('c-2')
    bed.cluster.cloud.onRequest({ call: 'start', machine: 'c-2' }, () => {
      Object.assign(etcd ?? {}, sick)
      Object.assign(apiServer ?? {}, api)
    })
    await bed.startWorker()

    const end = await bed.roll({
      pools: { control: { offering: 'large' } },
      verify: { timeout: '2s', settle: 0 },
    })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'VerifyFailed',
      message: expect.stringContaining(said),
    })
    expect(bed.acts()).toEqual(['stop c-2', 'setOffering c-2', 'start c-2'])
    expect(isCordoned(await bed.node('c-2'))).toBe(true)
  })

  describe('CKS-18 a pod that the node cannot do without', () => {
    const NEVER_READY = { metadata: { annotations: { 'simulation.noderoll.io/never-ready': 'true' } } }

    /** From the start of w-1's machine on its pod of the critical DaemonSet is not ready. */
    async function startCluster(): Promise<string> {
      await bed.startCluster({ workers: 1 })
      await runWorkload(bed.kube.api, 'DaemonSet', 'proxy', {
        on: 'w-1',
        priorityClass: 'system-node-critical',
        tolerations: [{ operator: 'Exists' }],
      })
      const [pod] = await podsOf(bed.kube.api, 'proxy')
      const name = pod?.metadata.name ?? ''
      makeNotReady('w-1', `${PODS}/${name}`)
      await bed.startWorker()
      return name
    }

    function makeNotReady(machine: string, path: string): void {
      bed.cluster.cloud.onRequest(
        { call: 'start', machine },
        async () => void (await bed.kube.api.ok('PATCH', path, NEVER_READY)),
        'arrival',
      )
    }

    it('and that is not ready after the restart holds the verify, and is named', async () => {
      const pod = await startCluster()

      const end = await bed.roll(PATIENT)

      expect(end).toMatchObject({
        kind: 'failed',
        type: 'VerifyFailed',
        message: expect.stringContaining(`w-1: pod default/${pod} is not ready`),
      })
      expect(isCordoned(await bed.node('w-1'))).toBe(true)
    })

    it('does not with criticalPods: ignore', async () => {
      await startCluster()

      const end = await bed.roll({
        ...TO_LARGE,
        verify: { timeout: '30s', settle: 0, criticalPods: 'ignore' },
      })

      expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1'] } } })
      expect(isCordoned(await bed.node('w-1'))).toBe(false)
    })

    it('may be a static pod of a control node: the next one is not touched', async () => {
      await bed.startCluster({ control: 3, workers: 0 })
      // c-1 leads and goes last.
      makeNotReady('c-2', '/api/v1/namespaces/kube-system/pods/kube-scheduler-c-2')
      await bed.startWorker()

      const end = await bed.roll({
        pools: { control: { offering: 'large' } },
        verify: PATIENT.verify,
      })

      expect(end).toMatchObject({
        kind: 'failed',
        type: 'VerifyFailed',
        message: expect.stringContaining('c-2: pod kube-system/kube-scheduler-c-2 is not ready'),
      })
      expect(bed.acts()).toEqual(['stop c-2', 'setOffering c-2', 'start c-2'])
    })
  })

  it('CKS-18 wants the node good twice, settle apart: a flap begins anew', async () => {
    await bed.startCluster({ workers: 1 })
    const { kubelets } = bed.cluster
    const bootBefore = await bootIdOf('w-1')
    let goodAgainAt = Number.POSITIVE_INFINITY
    let seen: 'nothing' | 'good' | 'bad' = 'nothing'
    const { proxy, kubernetes } = await behindProxy(bed)
    // What noderoll itself sees: the node stays bad until it has looked.
    const see = (node: Node) => {
      const isNew = node.status.nodeInfo.bootID !== bootBefore
      if (isNew && isReady(node) && seen === 'nothing') {
        seen = 'good'
        kubelets.script('w-1', { neverReady: true })
      } else if (isNew && !isReady(node) && seen === 'good') {
        seen = 'bad'
        goodAgainAt = Date.now()
        kubelets.script('w-1', { neverReady: false })
      }
    }
    proxy.on(
      { method: 'GET', path: '/api/v1/nodes/w-1' },
      pass({ onResponse: ({ body }) => see(JSON.parse(body)) }),
    )
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll({ ...TO_LARGE, kubernetes, verify: { timeout: '30s', settle: '3s' } })

    expect(end.kind).toBe('completed')
    expect(seen).toBe('bad')
    const uncordon = (await nodeWrites(bed, position, 'w-1')).find(
      ({ requestBody }) => requestBody.spec?.unschedulable === false,
    )
    expect((uncordon?.time ?? Number.NaN) - goodAgainAt).toBeGreaterThanOrEqual(3_000)
  })

  it('CKS-18, CKS-24 takes a node for back that came back while no worker was there, whatever the verify limit', async () => {
    await bed.startCluster({ workers: 1, delays: { bootMs: 7_000 } })
    const bootBefore = await bootIdOf('w-1')
    await bed.startWorker()
    const handle = await bed.start(bed.spec({ ...TO_LARGE, verify: { timeout: '6s', settle: '1s' } }))
    await waitUntil(
      async () =>
        (await handle.fetchHistory()).events?.some(
          (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'verifyNode',
        ),
      { for: 'the verify' },
    )

    await bed.stopWorker()
    await waitUntil(async () => isReady(await bed.node('w-1')) && (await bootIdOf('w-1')) !== bootBefore, {
      for: 'w-1 to be back',
    })
    await bed.startWorker()
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1'] }, state: 'Running' } })
    expect(isCordoned(await bed.node('w-1'))).toBe(false)
  })

  it('CKS-26 warns in result and event when the root file system did not grow with its disk', async () => {
    await bed.startCluster({ workers: 2 })
    bed.cluster.kubelets.script('w-1', { rootFsDoesNotGrow: true })
    const before = (await bed.node('w-2')).status.capacity['ephemeral-storage']
    await bed.startWorker()

    const end = await bed.roll({ pools: { worker: { rootDiskGiB: 80 } } })

    expect(end).toMatchObject({
      kind: 'completed',
      result: {
        done: { count: 2 },
        warnings: ['RootFsNotGrown: the disk of w-1 grew to 80 GiB, its root file system did not'],
      },
    })
    expect(await eventsOn(bed, 'w-1')).toContain('RootFsNotGrown')
    expect(await eventsOn(bed, 'w-2')).not.toContain('RootFsNotGrown')
    const after = (await bed.node('w-2')).status.capacity['ephemeral-storage']
    expect(Number.parseInt(after ?? '', 10)).toBeGreaterThan(Number.parseInt(before ?? '', 10))
    expect((await bed.node('w-1')).status.capacity['ephemeral-storage']).toBe(before)
  })

  it('CKS-26 starts machines where their new affinity groups want them, and keeps a dedication', async () => {
    await bed.startCluster({
      workers: 2,
      machine: { offering: 'small', affinityGroups: ['spread-a', 'dedicated'] },
    })
    await bed.startWorker()

    const end = await bed.roll({ pools: { worker: { affinityGroups: ['spread-b'] } } })

    expect(end).toMatchObject({ kind: 'completed', result: { done: { count: 2 } } })
    for (const name of ['w-1', 'w-2']) {
      expect([...bed.cluster.cloud.machine(name).placement].sort()).toEqual(['dedicated', 'spread-b'])
    }
  })
})
