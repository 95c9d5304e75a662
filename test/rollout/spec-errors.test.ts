import type { Client, WorkflowHandle } from '@temporalio/client'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { RolloutRequest } from '../../src/spec/schema.js'
import { answer, FaultProxy } from '../support/proxy.js'
import { CLUSTER, RolloutBed } from '../support/rollout-bed.js'
import { skippingClient, writesSince } from '../support/story-world.js'
import { waitUntil } from '../support/wait.js'

const LARGE = { worker: { offering: 'large' } } as const

let bed: RolloutBed
let proxy: FaultProxy
/** Starts workflows whose pauses between two attempts cost nothing. */
let skipping: Client

beforeAll(async () => {
  bed = await RolloutBed.open()
  proxy = await FaultProxy.start(bed.kube.access)
  skipping = await skippingClient(bed)
})
afterEach(async () => {
  await bed.clean()
  await proxy.reset()
  await bed.reachThrough(null)
})
afterAll(async () => {
  await skipping.connection.close()
  await proxy.stop()
  await bed.close()
})

async function start(): Promise<number> {
  await bed.startCluster({ workers: 1 })
  await bed.startWorker()
  bed.cluster.cloud.log.clear()
  return await bed.kube.audit.mark()
}

/** Every request of noderoll's to the API server and to the cloud. */
async function requestsSince(position: number): Promise<string[]> {
  await bed.kube.audit.settled()
  const asked = await bed.kube.audit.since(position, { user: 'noderoll' })
  return [...asked.map(({ uri }) => uri), ...bed.cluster.cloud.log.all().map(({ path }) => path)]
}

describe('a spec with mistakes', () => {
  const WRONG = {
    cluster: 'Prod EU',
    kubernetes: { context: 'a', inCluster: true, endpoints: ['http://10.0.0.1'] },
    machines: { provider: 'azure', region: { name: 'x' } },
    pools: {
      control: { maxUnavailable: 2, offering: '' },
      gpu: { offering: 'large' },
      spot: { type: 'worker', maxUnavailable: '0%' },
      fast: { type: 'worker', maxUnavailable: 2 },
      worker: { rootDiskGib: 80, rootDiskGiB: 12.5, select: { labels: { a: 'b' }, machines: ['w-1'] } },
    },
    rollout: 'yes',
    drain: { timeout: 'soon', barePods: 'delete', parallelEvictions: 0 },
    preflight: { tolerateUnready: -1 },
    verify: { timeout: 0 },
    batchTimeout: '0.5s',
    notify: 'me',
  }
  const FIELDS = [
    'cluster: expected a name of lower-case letters',
    'kubernetes: inCluster excludes context and kubeconfig; remove one of them',
    'kubernetes.endpoints.0: ',
    'machines.region: expected text',
    'pools.control.offering: ',
    'pools.gpu.type: is missing; write control, worker or etcd',
    'pools.fast.select: is missing; say by which labels its nodes are found',
    'pools.spot.maxUnavailable: "0%" is neither an integer of at least 1 nor a percentage',
    'pools.worker.rootDiskGib: is no field of a spec; remove it or correct its name',
    'pools.worker.rootDiskGiB: expected a whole number of GiB',
    'pools.worker.select: give either labels or machines',
    'rollout: ',
    'drain.timeout: "soon" is no duration; write 90s, 15m or 6h',
    'drain.barePods: ',
    'drain.parallelEvictions: ',
    'preflight.tolerateUnready: ',
    'verify.timeout: must be at least 1 s',
    'batchTimeout: must be at least 1 s',
    'notify: is no field of a spec; remove it or correct its name',
  ]

  it.each(['clusterRollout', 'planRollout'])(
    'InvalidSpec %s is one failure that names every field and what to write, and nothing is read or written',
    async (type) => {
      const position = await start()

      const end = await bed.endOf(await bed.startType(type, WRONG))

      expect(end).toMatchObject({ kind: 'failed', type: 'InvalidSpec' })
      if (end.kind !== 'failed') return
      for (const says of FIELDS) expect(end.message).toContain(says)
      expect(end.message).toContain(`The spec has ${(end.result as unknown as unknown[]).length} mistakes`)
      expect(await requestsSince(position)).toEqual([])
    },
  )

  it.each<[string, object, string[]]>([
    [
      'InvalidSpec a mistake that hides no other: of a field, between fields, of the provider',
      {
        startStopped: 1,
        pools: { control: { maxUnavailable: 1 } },
        machines: { provider: 'gcp' },
        batchTimeout: '10m',
        drain: { timeout: '15m' },
      },
      [
        'startStopped: ',
        'pools.control.maxUnavailable: is for worker pools',
        'machines.provider: gcp is no provider',
        'batchTimeout: 600 s is less than',
        'The spec has 4 mistakes, nothing was changed: ',
      ],
    ],
    [
      'InvalidSpec pools that do not say what they are',
      { pools: { gpu: { offering: 'large' }, worker: { type: 'control' }, spot: { type: 'worker' } } },
      [
        'pools.gpu.type: is missing; write control, worker or etcd',
        'pools.worker.type: ',
        'pools.spot.select: ',
      ],
    ],
    [
      'CKS-00 a worker pool without a selector beside another',
      { pools: { worker: {}, gpu: { type: 'worker', select: { labels: { gpu: '1' } } } } },
      ['pools.worker.select: is missing, and there are other worker pools'],
    ],
    [
      'CKS-09 maxUnavailable elsewhere than on workers',
      { pools: { control: { maxUnavailable: 1 } } },
      ['pools.control.maxUnavailable: is for worker pools; remove it: control nodes go one at a time'],
    ],
    [
      'CKS-02 maxUnavailable without a rollout',
      { rollout: false, pools: { worker: { maxUnavailable: 1 } } },
      ['pools.worker.maxUnavailable: means nothing with rollout: false'],
    ],
    [
      'CKS-13 a control or etcd pool and no word on how to ask etcd',
      { etcd: undefined, pools: { control: {}, etcd: {} } },
      ['etcd: is missing, and pool control is a control pool', 'pools.etcd.select.machines: is missing'],
    ],
    [
      'CKS-19 a batch with no time for drain and change',
      { batchTimeout: '20m', drain: { timeout: '15m' }, changeReserve: '10m' },
      [
        'batchTimeout: 1200 s is less than drain.timeout (900 s) and changeReserve (600 s) together; write at least 1500s',
      ],
    ],
    [
      'InvalidSpec a provider that this worker does not have, and options it does not know',
      {
        machines: { provider: 'gcp' },
        etcd: { provider: 'simulated', url: 'ftp://x', cluster: '', more: 1 },
      },
      ['machines.provider: gcp is no provider; this worker knows ', 'etcd.url: ', 'etcd.cluster: ', 'more'],
    ],
    ['InvalidSpec no way to the cluster', { kubernetes: {} }, ['kubernetes: say how to reach the cluster']],
  ])('%s', async (_, changes, says) => {
    const position = await start()

    const end = await bed.roll(changes)

    expect(end).toMatchObject({ kind: 'failed', type: 'InvalidSpec' })
    for (const one of says) expect(end).toHaveProperty('message', expect.stringContaining(one))
    expect(await requestsSince(position)).toEqual([])
  })

  it.each<[string, unknown]>([
    ['nothing at all', undefined],
    ['null', null],
    ['text', 'cluster: prod'],
    ['a list', []],
    ['an empty object', {}],
  ])('InvalidSpec is named also when the spec is %s', async (_, spec) => {
    const position = await start()

    const ends = await Promise.all(
      ['clusterRollout', 'planRollout', 'clusterStatus', 'releaseCluster'].map(async (type) =>
        bed.endOf(await bed.startType(type, spec)),
      ),
    )

    for (const end of ends) {
      expect(end).toMatchObject({ kind: 'failed', type: 'InvalidSpec' })
      expect(end).toHaveProperty('message', expect.stringMatching(/^The (spec|request) has \d+ mistakes?/))
    }
    expect(await requestsSince(position)).toEqual([])
  })

  it('InvalidSpec of releaseCluster and clusterStatus, too', async () => {
    const position = await start()
    const request = { ...bed.target(), cluster: 'PROD', page: -1, takeOver: '', pools: {} }

    const ends = await Promise.all(
      ['clusterStatus', 'releaseCluster'].map(async (type) => bed.endOf(await bed.startType(type, request))),
    )

    for (const end of ends) {
      expect(end).toMatchObject({ kind: 'failed', type: 'InvalidSpec' })
      for (const field of ['cluster: ', 'page: ', 'takeOver: ', 'pools: is no field'])
        expect(end).toHaveProperty('message', expect.stringContaining(field))
    }
    expect(await requestsSince(position)).toEqual([])
  })
})

describe('a world that cannot be reached', () => {
  const NO_STACK = /^[^\n]*$/

  /** What Temporal shows of the step that is being tried again. */
  async function lastFailureOf(handle: WorkflowHandle): Promise<string | null | undefined> {
    const { raw } = await handle.describe()
    return raw.pendingActivities?.[0]?.lastFailure?.message
  }

  it('K1 an API server that is overloaded for minutes: one sentence, after its budget', async () => {
    const position = await start()
    await bed.reachThrough(proxy)
    proxy.on({}, answer(503, { kind: 'Status', message: 'etcd is overloaded' }, { 'retry-after': '60' }))

    const ends = await Promise.all(
      ['clusterRollout', 'planRollout', 'clusterStatus', 'releaseCluster'].map(async (type) => {
        const request = type.endsWith('Rollout') ? bed.spec({ pools: LARGE }) : bed.target()
        return bed.endOf(await bed.startType(type, request, undefined, skipping))
      }),
    )

    for (const end of ends) {
      expect(end).toMatchObject({ kind: 'failed', type: 'Unreachable' })
      expect(end).toHaveProperty('message', expect.stringMatching(NO_STACK))
      expect(end).toHaveProperty('message', expect.stringContaining(CLUSTER))
      expect(end).toHaveProperty('message', expect.stringContaining('etcd is overloaded (503)'))
    }
    expect(await writesSince(bed, position)).toEqual([])
    expect(bed.acts(false)).toEqual([])
  })

  it('K1 an API server that refuses connections: the step says so in one sentence, and goes on when it is back', async () => {
    const position = await start()
    await bed.reachThrough(proxy)
    await proxy.down()

    const rollout = await bed.start(bed.spec({ pools: LARGE }))
    const said = await waitUntil(() => lastFailureOf(rollout), { for: 'a failed attempt' })
    const writes = await writesSince(bed, position)
    await proxy.up()
    const end = await bed.endOf(rollout)

    expect(said).toMatch(NO_STACK)
    expect(said).toContain(`checking the settings of ${CLUSTER}: Could not`)
    expect(said).toContain(`${proxy.url}: connection refused`)
    expect(writes).toEqual([])
    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', state: 'Running' } })
  })

  it('K1 a cloud that does not answer', async () => {
    const position = await start()
    bed.cluster.cloud.faults.add({
      effect: { kind: 'status', status: 503, retryAfterSeconds: 60 },
      count: null,
    })

    const end = await bed.endOf(
      await bed.startType('clusterRollout', bed.spec({ pools: LARGE }), undefined, skipping),
    )

    expect(end).toMatchObject({ kind: 'failed', type: 'Unreachable' })
    expect(end).toHaveProperty('message', expect.stringMatching(NO_STACK))
    expect(await writesSince(bed, position)).toEqual([])
  })

  it.each<[string, RolloutRequest['kubernetes'], string]>([
    [
      'a kubeconfig that is not there',
      { kubeconfig: '/nowhere/config' },
      'The kubeconfig /nowhere/config cannot be read (ENOENT)',
    ],
    ['a context that the kubeconfig does not have', { context: 'staging' }, 'has no context staging'],
    ['a worker outside of a cluster', { inCluster: true }, 'this worker does not run in a pod'],
  ])('K1 %s is named at once', async (_, changes, says) => {
    const position = await start()
    const given = bed.target().kubernetes
    const kubernetes = changes.inCluster ? changes : { ...given, ...changes }

    const end = await bed.roll({ pools: LARGE, kubernetes })

    expect(end).toMatchObject({ kind: 'failed' })
    expect(end).toHaveProperty('message', expect.stringContaining(says))
    expect(end).toHaveProperty('message', expect.stringMatching(NO_STACK))
    expect(await writesSince(bed, position)).toEqual([])
    expect(bed.acts(false)).toEqual([])
  })
})
