import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { MARK_KEYS } from '../../src/core/marks.js'
import { FaultProxy, type ProxiedRequest, pass } from '../support/proxy.js'
import { CLUSTER, marksOf, RolloutBed } from '../support/rollout-bed.js'
import { waitUntil } from '../support/wait.js'

const LARGE = { worker: { offering: 'large' } }

/** The read-back of the patch that writes the acting mark: the last thing a step asks before it sends the stop. */
function isReadBackOf(node: string, patched: () => boolean) {
  return (request: ProxiedRequest) =>
    request.method === 'GET' && request.path.startsWith(`/api/v1/nodes/${node}`) && patched()
}

describe('workers that are frozen, killed and replaced', () => {
  let bed: RolloutBed
  let proxy: FaultProxy

  beforeAll(async () => {
    bed = await RolloutBed.open()
    proxy = await FaultProxy.start({ url: bed.kube.url, ca: bed.kube.access.ca })
  })
  afterEach(async () => {
    await bed.clean()
    await proxy.reset()
    await proxy.up()
    await bed.reachThrough(null)
  })
  afterAll(async () => {
    await proxy.stop()
    await bed.close()
  })

  it('CKS-24 a worker frozen between its check and the stop, woken after a takeover, sends no second stop', {
    timeout: 180_000,
  }, async () => {
    await bed.startCluster({ workers: 2, delays: { stopMs: 4_000 } })
    await bed.reachThrough(proxy)
    const frozen = await bed.startWorkerProcess()
    let acting = false
    proxy.on({ method: 'PATCH', path: /\/nodes\/w-1/ }, (request) => {
      acting ||= request.body.includes(MARK_KEYS.acting)
      return undefined
    })
    const held = proxy.on(
      isReadBackOf('w-1', () => acting),
      () => pass({ onResponse: () => frozen.pause() }),
      { times: 1 },
    )
    const first = await bed.start(bed.spec({ pools: LARGE }))
    await held.hit
    await waitUntil(() => held.hits.length > 0 && acting, { for: 'the worker to be frozen' })
    await first.terminate('the operator gave up on it')
    await bed.reachThrough(null)
    await bed.startWorkerProcess()

    const second = await bed.start(bed.spec({ pools: LARGE }))
    await bed.cluster.cloud.untilMachine(
      'w-1',
      'is going down',
      (machine) => machine.power !== 'running',
      150_000,
    )
    frozen.resume()
    const end = await bed.endOf(second)

    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', state: 'Running' } })
    expect(bed.acts(false).filter((act) => act.startsWith('stop'))).toEqual(['stop w-1', 'stop w-2'])
    expect(bed.acts(false).filter((act) => act.startsWith('start'))).toEqual(['start w-1', 'start w-2'])
    for (const node of await bed.nodes())
      expect([marksOf(node), node.spec.unschedulable ?? false]).toEqual([[], false])
  })

  it('CKS-24 no uncordon reaches a node whose machine is being stopped, whoever wakes up', {
    timeout: 180_000,
  }, async () => {
    await bed.startCluster({ workers: 1, delays: { stopMs: 3_000 } })
    await bed.reachThrough(proxy)
    const frozen = await bed.startWorkerProcess()
    // Frozen with the uncordon of an undo in its hands: a drain is cancelled, K1 reads the node, and hangs.
    await bed.kube.api.ok('POST', '/apis/policy/v1/namespaces/default/poddisruptionbudgets', budget())
    await blockedPod(bed, 'w-1')
    const first = await bed.start(bed.spec({ pools: LARGE, drain: { timeout: '20s', barePods: 'evict' } }))
    await waitUntil(async () => (await bed.node('w-1')).spec.unschedulable, { for: 'the cordon' })
    let cancelled = false
    const held = proxy.on(
      (request) => cancelled && request.method === 'GET' && request.path.startsWith('/api/v1/nodes/w-1'),
      () => pass({ onResponse: () => frozen.pause() }),
      { times: 1 },
    )
    cancelled = true
    await first.signal('cancel', { now: true })
    await held.hit
    await first.terminate('the operator gave up on it')
    await bed.kube.api.ok('DELETE', '/apis/policy/v1/namespaces/default/poddisruptionbudgets/never')
    await bed.reachThrough(null)
    await bed.startWorkerProcess()

    const second = await bed.start(bed.spec({ pools: LARGE, drain: { timeout: '20s', barePods: 'evict' } }))
    await bed.cluster.cloud.untilMachine(
      'w-1',
      'is stopping',
      (machine) => machine.power === 'stopping',
      150_000,
    )
    const mark = await bed.kube.audit.mark()
    frozen.resume()
    await bed.cluster.cloud.untilMachine('w-1', 'is off', (machine) => machine.power === 'stopped', 20_000)
    const off = Date.now()
    await bed.kube.audit.settled()

    const writes = await bed.kube.audit.writes(mark, 'noderoll')
    // After that the second rollout may have given its node back.
    const uncordons = writes.filter(({ requestBody }) => requestBody?.spec?.unschedulable === false)
    expect(uncordons.filter(({ time }) => time <= off)).toEqual([])
    expect(await bed.endOf(second)).toMatchObject({ kind: 'completed', result: { outcome: 'done' } })
    expect(bed.acts()).toEqual(['stop w-1', 'setOffering w-1', 'start w-1'])
  })

  it('CKS-23 two starts in the same moment from two Temporal namespaces: one wins, the other is ClusterBusy', async () => {
    await bed.startCluster({ workers: 2 })
    await Promise.all([bed.startWorkerProcess(), bed.startWorkerProcess('default')])

    const [here, there] = await Promise.all([
      bed.startType('clusterRollout', bed.spec({ pools: LARGE }), `cluster-rollout/${CLUSTER}`),
      bed.startType(
        'clusterRollout',
        bed.spec({ pools: LARGE }),
        `cluster-rollout/${CLUSTER}`,
        bed.elsewhere,
      ),
    ])
    // The Lease is held until both have asked for it.
    const firstEnd = Promise.race([here.result(), there.result()]).then(
      () => undefined,
      () => undefined,
    )
    bed.cluster.cloud.onRequest({ call: 'stop' }, () => firstEnd, 'arrival')
    const ends = await Promise.allSettled([here.result(), there.result()])

    const won = ends.filter((end) => end.status === 'fulfilled')
    const [lost] = ends.filter((end) => end.status === 'rejected')
    expect(won).toHaveLength(1)
    expect(lost?.reason.cause).toMatchObject({ type: 'ClusterBusy' })
    expect(lost?.reason.cause.message).toContain('releaseCluster with {"takeOver"')
    expect(bed.acts().filter((act) => act.startsWith('stop'))).toEqual(['stop w-1', 'stop w-2'])
  })

  it('CKS-23 a paused rollout is never taken over, from its own namespace or another', async () => {
    await bed.startCluster({ workers: 2 })
    await Promise.all([bed.startWorkerProcess(), bed.startWorkerProcess('default')])
    const bootIds = (await bed.nodes()).map((node) => node.status.nodeInfo.bootID)
    const paused = await bed.client.workflow.signalWithStart('clusterRollout', {
      taskQueue: bed.taskQueue,
      workflowId: `cluster-rollout/${CLUSTER}`,
      args: [bed.spec({ pools: LARGE })],
      signal: 'pause',
    })
    await waitUntil(async () => ((await paused.query('progress')) as { phase: string }).phase === 'paused', {
      for: 'the pause',
    })
    const holder = await bed.leaseHolder()

    const here = await bed.endOf(await bed.startType('clusterRollout', bed.spec({ pools: LARGE }), 'another'))
    const there = await bed
      .startType('clusterRollout', bed.spec({ pools: LARGE }), `cluster-rollout/${CLUSTER}`, bed.elsewhere)
      .then((handle) => handle.result())
      .catch((error: { cause: unknown }) => error.cause)

    expect(here).toMatchObject({ kind: 'failed', type: 'ClusterBusy' })
    expect(there).toMatchObject({ type: 'ClusterBusy' })
    expect(await bed.leaseHolder()).toBe(holder)
    expect((await bed.nodes()).map((node) => node.status.nodeInfo.bootID)).toEqual(bootIds)
    await paused.signal('resume')
    await paused.result()
    expect(bed.acts().filter((act) => act.startsWith('stop'))).toEqual(['stop w-1', 'stop w-2'])
  })

  it('B35, CKS-26 the only API endpoint is on the machine being rolled: it is stopped and started exactly once', async () => {
    await bed.startCluster({ control: 3, workers: 1, delays: { stopMs: 300, startMs: 300, bootMs: 500 } })
    await bed.reachThrough(proxy)
    await bed.startWorker()
    // The proxy is the API server on c-1: gone with its machine, back some time after it runs.
    const off = bed.cluster.cloud.onRequest(
      { call: 'stop', machine: 'c-1' },
      async () => proxy.down(),
      'answer',
    )
    const on = bed.cluster.cloud.onRequest(
      { call: 'start', machine: 'c-1' },
      async () => {
        void bed.cluster.cloud
          .untilMachine('c-1', 'runs', (machine) => machine.power === 'running')
          .then(() => proxy.up())
      },
      'answer',
    )

    const end = await bed.roll({ pools: { control: { offering: 'large' } } })
    off()
    on()

    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', state: 'Running' } })
    // c-1 leads at first.
    expect(bed.acts(false)).toEqual(
      ['c-2', 'c-3', 'c-1'].flatMap((name) => [`stop ${name}`, `setOffering ${name}`, `start ${name}`]),
    )
  })
})

function budget() {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'never' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
  }
}

async function blockedPod(bed: RolloutBed, nodeName: string): Promise<void> {
  await bed.kube.api.ok('POST', '/api/v1/namespaces/default/pods', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', labels: { app: 'web' } },
    spec: { nodeName, terminationGracePeriodSeconds: 0, containers: [{ name: 'web', image: 'web' }] },
  })
  await waitUntil(
    async () => {
      const found = await bed.kube.api.ok(
        'GET',
        '/apis/policy/v1/namespaces/default/poddisruptionbudgets/never',
      )
      const { status } = found as unknown as { status?: { currentHealthy: number } }
      return status?.currentHealthy === 1
    },
    { for: 'the budget to be counted' },
  )
}
