import type { Client } from '@temporalio/client'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { answer, FaultProxy, type ProxiedRequest, pass } from '../support/proxy.js'
import { CLUSTER, marksOf, RolloutBed } from '../support/rollout-bed.js'
import {
  nodeWritesSince,
  pausedRollout,
  skippingClient,
  storedSettings,
  writesSince,
} from '../support/story-world.js'

const CONFIG_MAP = '/api/v1/namespaces/kube-system/configmaps/noderoll'
const WORKFLOW_ID = `cluster-rollout/${CLUSTER}`
const LARGE = { worker: { offering: 'large' } } as const

let bed: RolloutBed
let proxy: FaultProxy
/** Starts workflows for which the wait after a takeover costs nothing. */
let skipping: Client

beforeAll(async () => {
  bed = await RolloutBed.open()
  proxy = await FaultProxy.start(bed.kube.access)
  skipping = await skippingClient(bed)
  await bed.reachThrough(proxy)
})
afterEach(async () => {
  await bed.clean()
  await proxy.reset()
})
afterAll(async () => {
  await skipping.connection.close()
  await proxy.stop()
  await bed.close()
})

/** The write of settings that ask for large machines: not the one before that sets `Updating`. */
function storesLarge({ method, path, body }: ProxiedRequest): boolean {
  return method !== 'GET' && path.includes('/configmaps') && body.includes('large')
}

/** What somebody finds: stored settings, `Alert` and a last error. */
async function arrangeRecord(): Promise<Record<string, string>> {
  await bed.roll({ rollout: false, pools: { worker: {} } })
  await bed.kube.api.ok('PATCH', CONFIG_MAP, { data: { state: 'Alert', lastError: 'w-9 went up in smoke' } })
  return (await bed.record()) ?? {}
}

describe('the state of a cluster', () => {
  it('CKS-07 is Updating first, then the settings are stored, then come the nodes, then Running', async () => {
    await bed.startCluster({ workers: 1 })
    await bed.startWorker()
    await bed.roll({ rollout: false, pools: { worker: {} } })
    const start = await bed.kube.audit.mark()

    const end = await bed.roll({ pools: LARGE })

    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', state: 'Running' } })
    await bed.kube.audit.settled()
    const writes = await bed.kube.audit.writes(start, 'noderoll')
    const story = writes
      // Told beside the steps, some of them after the last one.
      .filter(({ resource }) => resource !== 'events')
      .map(({ resource, requestBody }) =>
        resource === 'configmaps'
          ? `${requestBody.data.state} ${JSON.parse(requestBody.data.pools).worker.settings.offerings}`
          : resource,
      )
    expect([story[0], story[1], story[2], story[3], story.at(-2), story.at(-1)]).toEqual([
      'leases',
      'Updating small',
      'Updating large',
      'nodes',
      'Running large',
      'leases',
    ])
  })

  it.each(['Running', 'Alert'])('CKS-07 a rollout starts from %s', async (state) => {
    await bed.startCluster({ workers: 1 })
    await bed.startWorker()
    await bed.roll({ rollout: false, pools: { worker: {} } })
    await bed.kube.api.ok('PATCH', CONFIG_MAP, { data: { state, lastError: 'of the last time' } })

    const end = await bed.roll({ pools: LARGE })

    expect(end).toMatchObject({ kind: 'completed', result: { state: 'Running', lastError: null } })
    expect(await bed.record()).toMatchObject({ state: 'Running' })
    expect(await bed.record()).not.toHaveProperty('lastError')
  })

  it('CKS-07 is, where nothing is recorded, the one that health gives', async () => {
    await bed.startCluster({ workers: 1 })
    await bed.startWorker()
    await bed.roll({ rollout: false, pools: { worker: {} } })

    const healthy = await bed.endOf(await bed.startType('clusterStatus', bed.target()))
    bed.cluster.cloud.crash('w-1')
    const broken = await bed.endOf(await bed.startType('clusterStatus', bed.target()))

    expect(await bed.record()).not.toHaveProperty('state')
    expect(healthy).toMatchObject({ kind: 'completed', result: { state: 'Running' } })
    expect(broken).toMatchObject({ kind: 'completed', result: { state: 'Alert' } })
  })

  it('CKS-07 is written compare-and-set: what others write meanwhile stays', async () => {
    await bed.startCluster({ workers: 1 })
    await bed.startWorker()
    await arrangeRecord()
    let notes = 0
    const others = proxy.on(
      { method: 'PUT', path: CONFIG_MAP },
      async () => {
        notes += 1
        await bed.kube.api.ok('PATCH', CONFIG_MAP, { data: { [`note-${notes}`]: 'of a person' } })
        return pass()
      },
      { times: 2 },
    )

    const end = await bed.roll({ pools: LARGE })

    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', state: 'Running' } })
    expect(others.hits).toHaveLength(2)
    expect(await bed.record()).toMatchObject({ 'note-1': 'of a person', 'note-2': 'of a person' })
    expect(await storedSettings(bed)).toMatchObject({ worker: { offerings: ['large'] } })
  })
})

describe('a rollout refused after it has begun', () => {
  it('CKS-07 leaves state, settings and lastError as they were when somebody changed a machine meanwhile', async () => {
    await bed.startCluster({ workers: 2 })
    await bed.startWorker()
    const record = await arrangeRecord()
    proxy.on({ method: 'PUT', path: /\/leases\/noderoll/ }, () => {
      bed.cluster.cloud.machine('w-1').rootDiskGiB = 100
      return pass()
    })
    const start = await bed.kube.audit.mark()

    const end = await bed.roll({ pools: { worker: { rootDiskGiB: 80 } } })

    expect(end).toMatchObject({ kind: 'failed', type: 'SettingsRefused' })
    expect(end).toHaveProperty('message', expect.stringContaining('would shrink the 100 GiB disk of w-1'))
    expect(await bed.record()).toEqual(record)
    expect(await bed.leaseHolder()).toBeNull()
    expect(await writesSince(bed, start)).toEqual([
      'update leases noderoll',
      'update configmaps noderoll',
      'update configmaps noderoll',
      'update leases noderoll',
    ])
    expect(bed.acts(false)).toEqual([])
  })

  it.each([true, false])(
    'CKS-07 leaves them as they were when storing fails (rollout: %s)',
    async (rollout) => {
      await bed.startCluster({ workers: 1 })
      await bed.startWorker()
      const record = await arrangeRecord()
      const refused = proxy.on(
        storesLarge,
        answer(403, { kind: 'Status', status: 'Failure', reason: 'Forbidden', message: 'a webhook said no' }),
      )
      const start = await bed.kube.audit.mark()

      const end = await bed.roll({ rollout, pools: LARGE })

      expect(end).toMatchObject({ kind: 'failed', type: 'SettingsRefused' })
      expect(end).toHaveProperty('message', expect.stringContaining('a webhook said no'))
      expect(refused.hits).toHaveLength(1)
      expect(await bed.record()).toEqual(record)
      expect(await bed.leaseHolder()).toBeNull()
      expect(await nodeWritesSince(bed, start)).toEqual([])
      expect(bed.acts(false)).toEqual([])
    },
  )

  it('CKS-07 leaves no state where none was', async () => {
    await bed.startCluster({ workers: 1 })
    await bed.startWorker()
    proxy.on(storesLarge, answer(403, { kind: 'Status', message: 'a webhook said no' }))

    const end = await bed.roll({ pools: LARGE })

    expect(end).toMatchObject({ kind: 'failed', type: 'SettingsRefused' })
    const record = (await bed.record()) ?? {}
    expect(Object.keys(record).filter((key) => !['version', 'pools', 'poolOrder'].includes(key))).toEqual([])
    expect(await storedSettings(bed)).toEqual({})
    expect(await bed.leaseHolder()).toBeNull()
  })
})

describe('Updating, left behind by a rollout that was terminated', () => {
  async function arrangeTerminated(): Promise<void> {
    await bed.startCluster({ workers: 2 })
    await bed.startWorker()
    await bed.roll({ rollout: false, pools: { worker: {} } })
    const gone = await pausedRollout(bed, { pools: {} })
    await gone.terminate('somebody was in a hurry')
    bed.cluster.cloud.machine('w-2').offering = 'huge'
  }
  const RECOUNTED = JSON.stringify({ cpu: 2 + 8, machines: 2, memoryMiB: 4096 + 16384 })

  it('CKS-07 means Alert', async () => {
    await arrangeTerminated()

    const status = await bed.endOf(await bed.startType('clusterStatus', bed.target()))

    expect(await bed.record()).toMatchObject({ state: 'Updating' })
    expect(status).toMatchObject({
      kind: 'completed',
      result: { state: 'Alert', holder: expect.stringContaining(WORKFLOW_ID) },
    })
  })

  it('CKS-07 is Alert, capacity recounted, once settings are stored', async () => {
    await arrangeTerminated()

    const end = await bed.roll({ rollout: false, pools: LARGE })

    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'stored' } })
    expect(await bed.record()).toMatchObject({ state: 'Alert', capacity: RECOUNTED })
    expect(await bed.leaseHolder()).toBeNull()
  })

  it('CKS-07 is Alert, capacity recounted, once another rollout was refused under the Lease', async () => {
    await arrangeTerminated()
    proxy.on(storesLarge, answer(403, { kind: 'Status', message: 'a webhook said no' }))

    const end = await bed.roll({ pools: LARGE })

    expect(end).toMatchObject({ kind: 'failed', type: 'SettingsRefused' })
    expect(await bed.record()).toMatchObject({ state: 'Alert', capacity: RECOUNTED })
    expect(await storedSettings(bed)).toMatchObject({ worker: { offerings: ['small'] } })
    expect(await bed.leaseHolder()).toBeNull()
  })

  it('CKS-07 does not keep the next rollout from starting', async () => {
    await arrangeTerminated()

    const end = await bed.endOf(
      await bed.startType('clusterRollout', bed.spec({ pools: LARGE }), WORKFLOW_ID, skipping),
    )

    expect(end).toMatchObject({ kind: 'completed', result: { outcome: 'done', state: 'Running' } })
    expect(await bed.record()).toMatchObject({ state: 'Running' })
  })
})

describe('a cancel that arrives while the settings are being stored', () => {
  it('CKS-20 by signal: they stay stored, no node is touched, lastError says who and when', async () => {
    await bed.startCluster({ workers: 2 })
    await bed.startWorker()
    const start = await bed.kube.audit.mark()
    const stored = proxy.on(storesLarge, async () => {
      await bed.client.workflow.getHandle(WORKFLOW_ID).signal('cancel', { by: 'ana' })
      return pass()
    })

    const end = await bed.roll({ pools: LARGE })

    expect(stored.hits.length).toBeGreaterThan(0)
    const lastError = expect.stringMatching(/^cancelled by ana at 20\d\d-\d\d-\d\dT/)
    expect(end).toMatchObject({
      kind: 'completed',
      result: { outcome: 'cancelled', state: 'Running', done: { count: 0 }, lastError },
    })
    expect(await bed.record()).toMatchObject({ state: 'Running', lastError })
    expect(await storedSettings(bed)).toMatchObject({ worker: { offerings: ['large'] } })
    expect(await nodeWritesSince(bed, start)).toEqual([])
    expect(bed.acts(false)).toEqual([])
    expect((await bed.nodes()).flatMap(marksOf)).toEqual([])
    expect(await bed.leaseHolder()).toBeNull()
  })

  it('CKS-20 native: they stay stored, no node is touched, the workflow ends as canceled', async () => {
    await bed.startCluster({ workers: 2 })
    await bed.startWorker()
    const start = await bed.kube.audit.mark()
    proxy.on(storesLarge, async () => {
      await bed.client.workflow.getHandle(WORKFLOW_ID).cancel()
      return pass()
    })

    const end = await bed.roll({ pools: LARGE })

    expect(end.kind).toBe('canceled')
    expect(await bed.record()).toMatchObject({ state: 'Running' })
    expect((await bed.record())?.lastError).toMatch(/^cancelled by Temporal's cancel at/)
    expect(await storedSettings(bed)).toMatchObject({ worker: { offerings: ['large'] } })
    expect(await nodeWritesSince(bed, start)).toEqual([])
    expect(bed.acts(false)).toEqual([])
    expect(await bed.leaseHolder()).toBeNull()
  })

  it('CKS-20 where nothing is rolled out: they stay stored', async () => {
    await bed.startCluster({ workers: 1 })
    await bed.startWorker()
    proxy.on(storesLarge, async () => {
      await bed.client.workflow.getHandle(WORKFLOW_ID).cancel()
      return pass()
    })

    await bed.roll({ rollout: false, pools: LARGE })

    expect(await storedSettings(bed)).toMatchObject({ worker: { offerings: ['large'] } })
    expect(await bed.leaseHolder()).toBeNull()
  })
})
