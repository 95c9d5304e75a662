import type { Client, WorkflowHandle } from '@temporalio/client'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Released } from '../../src/api/activities.js'
import { actingAnnotation, attemptAnnotation, failureAnnotation, MARK_KEYS } from '../../src/core/marks.js'
import { answer, FaultProxy, pass } from '../support/proxy.js'
import { CLUSTER, marksOf, type Node, RolloutBed } from '../support/rollout-bed.js'
import {
  makeNotReady,
  pausedRollout,
  skippingClient,
  untilNotReady,
  writesSince,
} from '../support/story-world.js'
import { waitUntil } from '../support/wait.js'

const LARGE = { worker: { offering: 'large' } } as const
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'
const CONFIG_MAP = '/api/v1/namespaces/kube-system/configmaps/noderoll'
const GONE = 'another-server/prod/cluster-rollout/prod/of-long-ago'

let bed: RolloutBed
/** Starts workflows for which the wait after a takeover costs nothing. */
let skipping: Client

beforeAll(async () => {
  bed = await RolloutBed.open()
  skipping = await skippingClient(bed)
})
afterEach(() => bed.clean())
afterAll(async () => {
  await skipping.connection.close()
  await bed.close()
})

const machine = (name: string) => bed.cluster.cloud.machine(name)

async function releaseEnd(takeOver?: string) {
  const request = { ...bed.target(), ...(takeOver === undefined ? {} : { takeOver }) }
  return bed.endOf(await bed.startType('releaseCluster', request, undefined, skipping))
}

async function release(takeOver?: string): Promise<Released> {
  const end = await releaseEnd(takeOver)
  if (end.kind !== 'completed') throw new Error(`releaseCluster ${end.kind}: ${end.message}`)
  return end.result as unknown as Released
}

/** What a second run writes, after a first one. */
async function releaseAgain(takeOver?: string): Promise<string[]> {
  const start = await bed.kube.audit.mark()
  await release(takeOver)
  return writesSince(bed, start)
}

async function storedWorkers(workers: number): Promise<void> {
  await bed.startCluster({ workers })
  await bed.startWorker()
  await bed.roll({ rollout: false, pools: { worker: {} } })
}

async function patchNode(name: string, patch: object): Promise<void> {
  await bed.kube.api.ok('PATCH', `/api/v1/nodes/${name}`, patch)
}

/** The marks of a rollout that ended, as it would have written them. */
function marks(
  node: Node,
  of: { boot: 'same' | 'old'; ours?: boolean; acting?: boolean; failure?: boolean },
) {
  const at = '2026-01-01T00:00:00.000Z'
  const bootId = of.boot === 'same' ? node.status.nodeInfo.bootID : 'of-before-the-stop'
  const { uid } = node.metadata
  const added = { labels: { team: 'payments', added: null }, annotations: {} }
  return {
    [MARK_KEYS.attempt]: attemptAnnotation({ rollout: GONE, run: 'r', token: 't', at, bootId, uid, added }),
    ...((of.ours ?? true) ? { [MARK_KEYS.bootId]: bootId } : {}),
    ...(of.acting
      ? { [MARK_KEYS.acting]: actingAnnotation({ act: 'stop', at, rollout: GONE, token: 't' }) }
      : {}),
    ...(of.failure
      ? {
          [MARK_KEYS.failure]: failureAnnotation({
            step: 'start',
            reason: 'no power',
            machine: 'stopped',
            at,
            rollout: GONE,
          }),
        }
      : {}),
  }
}

describe('release, on nodes that a rollout left marked', () => {
  const NAMES = [
    'rebooted',
    'untouched',
    'foreign',
    'acting',
    'failed',
    'down',
    'busy',
    'unready',
    'garbled',
    'cordoned',
  ]
  const SHOWN = { unschedulable: true, marks: 0 }

  it('CKS-21 gives back those it may, leaves the rest cordoned, and writes nothing the second time', async () => {
    const { cloud, kubelets } = await bed.startCluster({ workers: 0 })
    for (const name of NAMES) cloud.addMachine({ cluster: CLUSTER, name, type: 'worker', offering: 'small' })
    await kubelets.untilReady(NAMES)
    await bed.startWorker()
    await bed.roll({ rollout: false, pools: { worker: {} } })
    machine('untouched').offering = 'huge'
    const mark = async (name: string, of: Parameters<typeof marks>[1]) =>
      patchNode(name, {
        metadata: { annotations: marks(await bed.node(name), of), labels: { added: 'x', team: 'noderoll' } },
        spec: { unschedulable: true },
      })
    await mark('rebooted', { boot: 'old', acting: true })
    await mark('untouched', { boot: 'same' })
    await mark('foreign', { boot: 'same', ours: false })
    await mark('acting', { boot: 'same', acting: true })
    await mark('failed', { boot: 'old', acting: true, failure: true })
    await mark('down', { boot: 'same' })
    await mark('busy', { boot: 'same' })
    await mark('unready', { boot: 'old', acting: true })
    await patchNode('garbled', {
      metadata: { annotations: { [MARK_KEYS.attempt]: '{' } },
      spec: { unschedulable: true },
    })
    await patchNode('cordoned', {
      spec: { unschedulable: true, taints: [{ key: 'theirs', effect: 'NoSchedule' }] },
    })
    await patchNode('untouched', { metadata: { annotations: { 'team.example/note': 'keep' } } })
    cloud.crash('down')
    machine('busy').operation = 'op-of-somebody'
    await makeNotReady(bed, 'unready')
    await untilNotReady(bed, 'down')

    const released = await release()
    const again = await releaseAgain()

    const nodes = new Map((await bed.nodes()).map((node) => [node.metadata.name, node]))
    const shown = (name: string) => {
      const node = nodes.get(name)
      return {
        unschedulable: node?.spec.unschedulable ?? false,
        marks: node === undefined ? null : marksOf(node).length,
      }
    }
    expect(Object.fromEntries(NAMES.map((name) => [name, shown(name)]))).toEqual({
      rebooted: { unschedulable: false, marks: 0 },
      untouched: { unschedulable: false, marks: 0 },
      foreign: SHOWN,
      acting: { unschedulable: true, marks: 3 },
      failed: { unschedulable: true, marks: 4 },
      down: { unschedulable: true, marks: 2 },
      busy: { unschedulable: true, marks: 2 },
      unready: { unschedulable: true, marks: 3 },
      garbled: { unschedulable: true, marks: 1 },
      cordoned: SHOWN,
    })
    expect([...released.givenBack].sort()).toEqual(['foreign', 'rebooted', 'untouched'])
    expect(Object.fromEntries(released.leftCordoned.map(({ name, why }) => [name, why]))).toEqual({
      acting: 'stop was under way and the boot id is the old one',
      failed: 'failed in start: no power',
      down: 'its machine is stopped',
      busy: expect.stringContaining('op-of-somebody'),
      unready: 'stop was under way, booted since, not ready',
      garbled: `its marks cannot be read (${MARK_KEYS.attempt})`,
    })
    // What noderoll added goes, what was there before is back, what is of others stays.
    expect(nodes.get('untouched')?.metadata.labels).toMatchObject({ team: 'payments' })
    expect(nodes.get('untouched')?.metadata.labels).not.toHaveProperty('added')
    expect(nodes.get('untouched')?.metadata.annotations).toMatchObject({ 'team.example/note': 'keep' })
    expect(nodes.get('cordoned')?.spec.taints).toContainEqual({ key: 'theirs', effect: 'NoSchedule' })
    expect(released).toMatchObject({ state: 'Alert', capacity: { machines: 10, cpu: 9 * 2 + 8 } })
    expect(await bed.record()).toMatchObject({
      state: 'Alert',
      capacity: JSON.stringify({ cpu: 26, machines: 10, memoryMiB: 9 * 4096 + 16384 }),
    })
    expect(again).toEqual([])
    expect(bed.acts(false)).toEqual([])
  })

  it.each<[string, 'Running' | 'Alert', () => unknown, RegExp | null]>([
    ['all is well', 'Running', () => undefined, null],
    [
      'somebody has cordoned a node',
      'Running',
      () => patchNode('w-1', { spec: { unschedulable: true } }),
      null,
    ],
    ['one of three etcd members is sick', 'Running', () => sick('c-1'), null],
    ['a node in no pool is not Ready', 'Running', () => makeNotReady(bed, 'x-1'), null],
    [
      'two of three etcd members are sick',
      'Alert',
      () => [sick('c-1'), sick('c-2')],
      /etcd has 1 healthy voters of 3/,
    ],
    ['a machine is off', 'Alert', () => bed.cluster.cloud.crash('w-1'), /machine of w-1 is stopped/],
    ['a machine is gone', 'Alert', () => bed.cluster.cloud.removeMachine('w-1'), /node w-1 has no machine/],
    ['a node is not Ready', 'Alert', () => makeNotReady(bed, 'w-1'), /w-1 is not ready/],
    ['a mark is left', 'Alert', () => scribble('w-1'), /node w-1 carries marks/],
    ['a mark is left on a node in no pool', 'Alert', () => scribble('x-1'), /node x-1 carries marks/],
  ])('CKS-21 %s: %s', async (_, state, arrange, why) => {
    const { cloud, kubelets } = await bed.startCluster({ control: 3, workers: 0 })
    cloud.addMachine({ cluster: CLUSTER, name: 'w-1', type: 'worker', nodeLabels: { pool: 'a' } })
    cloud.addMachine({ cluster: CLUSTER, name: 'x-1', type: 'worker', nodeLabels: { pool: 'x' } })
    await kubelets.untilReady(['w-1', 'x-1'])
    await bed.startWorker()
    await bed.roll({
      rollout: false,
      pools: { control: {}, a: { type: 'worker', select: { labels: { pool: 'a' } } } },
    })
    await arrange()

    const released = await release()
    const again = await releaseAgain()

    expect(released.state).toBe(state)
    expect(released.unhealthy).toEqual(why === null ? [] : [expect.stringMatching(why)])
    expect(await bed.record()).toMatchObject({ state })
    expect(again).toEqual([])
  })

  const sick = (name: string) => Object.assign(machine(name).etcd ?? {}, { healthy: false, reason: 'disk' })
  const scribble = (name: string) =>
    patchNode(name, { metadata: { annotations: { [MARK_KEYS.failure]: '{' } } })
})

describe('releaseCluster, after a rollout', () => {
  it('CKS-21 that succeeded has nothing to do, twice', async () => {
    await storedWorkers(2)
    await bed.roll({ pools: LARGE })
    const start = await bed.kube.audit.mark()

    const released = await release()
    const again = await releaseAgain()

    expect(released).toMatchObject({ state: 'Running', givenBack: [], leftCordoned: [], lastError: null })
    expect(await writesSince(bed, start)).toEqual([])
    expect(again).toEqual([])
  })

  it('CKS-21 whose drain failed keeps state and lastError, and writes nothing the second time', async () => {
    await storedWorkers(2)
    await bed.kube.api.ok('POST', '/api/v1/namespaces/default/pods', {
      metadata: { name: 'bare' },
      spec: { nodeName: 'w-1', containers: [{ name: 'c', image: 'i' }] },
    })
    const end = await bed.roll({ pools: LARGE })

    const released = await release()
    const again = await releaseAgain()

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
    await storedWorkers(2)
    bed.cluster.cloud.faults.add({
      call: 'start',
      machine: 'w-1',
      effect: { kind: 'operationFails', message: 'no power in rack 7' },
      count: null,
    })
    const end = await bed.roll({ pools: LARGE })

    const released = await release()
    const again = await releaseAgain()

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
    await storedWorkers(2)
    bed.cluster.cloud.onRequest({ call: 'stop', machine: 'w-1' }, () =>
      bed.client.workflow.getHandle(`cluster-rollout/${CLUSTER}`).signal('cancel', { by: 'ana' }),
    )
    const end = await bed.roll({ pools: LARGE })

    const released = await release()
    const again = await releaseAgain()

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
    await storedWorkers(2)
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

    const released = await release()
    const again = await releaseAgain()

    expect(released).toMatchObject({ state: 'Running', givenBack: ['w-1'], leftCordoned: [] })
    expect(again).toEqual([])
    const node = await bed.node('w-1')
    expect(node.spec.unschedulable ?? false).toBe(false)
    expect(marksOf(node)).toEqual([])
    expect(await bed.leaseHolder()).toBeNull()
    expect(bed.acts(false)).toEqual([])
  })

  it('CKS-24 that was terminated after a stop leaves the node cordoned and starts nothing', async () => {
    await storedWorkers(2)
    const started: WorkflowHandle[] = []
    bed.cluster.cloud.onRequest({ call: 'stop', machine: 'w-1' }, async () => {
      await started[0]?.terminate('somebody was in a hurry')
    })
    started.push(await bed.start(bed.spec({ pools: LARGE })))
    await bed.cluster.cloud.untilMachine('w-1', 'is off', ({ power }) => power === 'stopped')
    await waitUntil(async () => (await started[0]?.describe())?.status.name === 'TERMINATED', {
      for: 'the end of the rollout',
    })

    const released = await release()
    const again = await releaseAgain()

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

describe('releaseCluster, while somebody has the Lease', () => {
  async function arrangeLease(holderIdentity: string): Promise<void> {
    const spec = { holderIdentity, acquireTime: '2026-01-01T00:00:00.000000Z' }
    await bed.kube.api.ok('PATCH', `${LEASES}/noderoll`, { spec })
  }

  it('CKS-23 is refused for a holder of which nobody knows, naming it and what to do', async () => {
    await storedWorkers(1)
    await arrangeLease(GONE)
    const start = await bed.kube.audit.mark()

    const ends = [await releaseEnd(), await releaseEnd(`${GONE}r`), await bed.roll({ pools: LARGE })]

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
    await storedWorkers(1)
    await bed.kube.api.ok('PATCH', CONFIG_MAP, { data: { state: 'Updating', rollout: GONE } })
    await arrangeLease(GONE)

    const released = await release(GONE)
    const again = await releaseAgain(GONE)

    expect(released.state).toBe('Running')
    expect(await bed.leaseHolder()).toBeNull()
    expect(await bed.record()).toMatchObject({ state: 'Running' })
    expect(await bed.record()).not.toHaveProperty('rollout')
    expect(again).toEqual([])
  })

  it('CKS-24 a rollout whose cluster a person took over writes nothing more, and says what is there', async () => {
    await storedWorkers(2)
    const former = await pausedRollout(bed, { pools: LARGE })
    await release((await bed.leaseHolder()) ?? '')
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
    await storedWorkers(1)
    await bed.kube.api.ok('PATCH', CONFIG_MAP, { data: { ...data, state: 'Updating' } })
    await arrangeLease(GONE)
    const start = await bed.kube.audit.mark()

    const end = await releaseEnd(GONE)

    expect(end).toMatchObject({ kind: 'failed' })
    expect(end).toHaveProperty('message', expect.stringMatching(says))
    expect(await writesSince(bed, start)).toEqual([])
    expect(await bed.leaseHolder()).toBe(GONE)
  })

  it('CKS-24 waits, after a takeover, until the former holder can no longer be at work; a cancel waits with it', async () => {
    await storedWorkers(1)
    await patchNode('w-1', {
      metadata: { annotations: marks(await bed.node('w-1'), { boot: 'same' }) },
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

    const handle = await bed.startType('releaseCluster', request, 'taking-over', skipping)
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
    await storedWorkers(1)
    const proxy = await FaultProxy.start(bed.kube.access)
    await bed.reachThrough(proxy)
    await patchNode('w-1', {
      metadata: { annotations: marks(await bed.node('w-1'), { boot: 'same' }) },
      spec: { unschedulable: true },
    })
    const unwritten = [/\/nodes\/w-1/, /\/configmaps\/noderoll/, /\/leases\/noderoll/].map((path) =>
      proxy.on(({ method, path: asked }) => method !== 'GET' && path.test(asked), answer(503, 'busy'), {
        times: 2,
      }),
    )

    const released = await release()
    await proxy.stop()
    await bed.reachThrough(null)

    expect(unwritten.map(({ hits }) => hits.length)).toEqual([2, 2, 2])
    expect(released).toMatchObject({ state: 'Running' })
    expect(marksOf(await bed.node('w-1'))).toEqual([])
    expect(await bed.leaseHolder()).toBeNull()
  })
})
