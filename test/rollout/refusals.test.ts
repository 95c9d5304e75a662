import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { RolloutRequest } from '../../src/spec/schema.js'
import { CLUSTER, marksOf, RolloutBed } from '../support/rollout-bed.js'
import {
  A,
  makeNotReady,
  nodeWritesSince,
  pausedRollout,
  storedSettings,
  writesSince,
} from '../support/story-world.js'

const LEASE = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/noderoll'
const CONFIG_MAP = '/api/v1/namespaces/kube-system/configmaps/noderoll'

let bed: RolloutBed

beforeAll(async () => {
  bed = await RolloutBed.open()
  bed.keepsWorker = true
})
afterEach(() => bed.clean())
afterAll(() => bed.close())

const machine = (name: string) => bed.cluster.cloud.machine(name)

/** How a request ended, and what has happened to the world since `start`. */
async function outcomeOf(changes: Partial<RolloutRequest>, start: number) {
  const end = await bed.roll(changes)
  return { end, writes: await writesSince(bed, start), acts: bed.acts(false) }
}

/** Refused, saying all of this, with nothing written and no machine touched. */
function refusedWith(...says: string[]) {
  const message = expect.stringMatching(new RegExp(says.map((one) => `(?=.*${one})`).join('')))
  return { end: { kind: 'failed', type: 'SettingsRefused', message }, writes: [], acts: [] }
}

describe('membership', () => {
  it('CKS-00 refuses, each by name and with nothing written: in two pools, without machine, without Node', async () => {
    const { cloud, kubelets } = await bed.startCluster({ workers: 0 })
    const add = (name: string, nodeLabels: Record<string, string>) =>
      cloud.addMachine({ cluster: CLUSTER, name, type: 'worker', nodeLabels })
    add('both-1', { pool: 'a', zone: 'b' })
    add('gone-1', { pool: 'a' })
    add('bare-1', { pool: 'a' })
    add('a-1', { pool: 'a' })
    await kubelets.untilReady(['both-1', 'gone-1', 'bare-1', 'a-1'])
    await bed.startWorker()
    cloud.removeMachine('gone-1')
    // Its kubelet may not be done with its first Node yet.
    kubelets.script('bare-1', { doesNotRegister: true })
    await bed.kube.api.ok('DELETE', '/api/v1/nodes/bare-1')
    const start = await bed.kube.audit.mark()
    const pools = {
      a: { ...A, offering: 'large' },
      b: { type: 'worker', select: { labels: { zone: 'b' } } },
    } as const

    for (const rollout of [true, false]) {
      expect(await outcomeOf({ pools, rollout }, start)).toMatchObject(
        refusedWith(
          'node both-1 is in 2 pools: a, b',
          'node gone-1 has no machine at the provider',
          'machine bare-1 is running and has no Node',
        ),
      )
    }

    for (const path of [LEASE, CONFIG_MAP]) expect((await bed.kube.api.call('GET', path)).status).toBe(404)
  })

  it('CKS-00 refuses a control-plane node in a worker pool: nobody would look at quorum', async () => {
    await bed.startCluster({ control: 3, workers: 1 })
    await bed.startWorker()
    const start = await bed.kube.audit.mark()
    const linux = { type: 'worker', select: { labels: { 'kubernetes.io/os': 'linux' } } } as const

    const outcome = await outcomeOf({ pools: { linux: { ...linux, offering: 'large' } } }, start)

    expect(outcome).toMatchObject(refusedWith('node c-1 is a control-plane node, and linux is a worker pool'))
  })

  it.each<[string, Record<string, string>, string]>([
    [
      'another cluster under the same name',
      { identity: 'of-another-cluster' },
      'identity of-another-cluster',
    ],
    ['the same cluster under another name', { cluster: 'staging' }, 'known as staging, not prod'],
  ])('CKS-00 refuses %s', async (_, data, says) => {
    await bed.startCluster({ workers: 1 })
    await bed.startWorker()
    await bed.roll({ rollout: false, pools: { worker: {} } })
    await bed.kube.api.ok('PATCH', CONFIG_MAP, { data })
    const record = await bed.record()
    const start = await bed.kube.audit.mark()

    for (const rollout of [true, false]) {
      expect(await outcomeOf({ rollout, pools: { worker: { offering: 'large' } } }, start)).toMatchObject(
        refusedWith(says),
      )
    }

    expect(await bed.record()).toEqual(record)
    expect(await bed.leaseHolder()).toBeNull()
  })

  it('CKS-00 the first rollout records the UID of kube-system', async () => {
    await bed.startCluster({ workers: 1 })
    await bed.startWorker()

    await bed.roll({ rollout: false, pools: { worker: {} } })

    const { metadata } = await bed.kube.api.ok('GET', '/api/v1/namespaces/kube-system')
    expect(await bed.record()).toMatchObject({ cluster: CLUSTER, identity: metadata.uid })
  })

  it('CKS-00 nodes in no pool are never touched and hold nothing up', async () => {
    const { cloud, kubelets } = await bed.startCluster({ workers: 0 })
    cloud.addMachine({ cluster: CLUSTER, name: 'a-1', type: 'worker', nodeLabels: { pool: 'a' } })
    cloud.addMachine({ cluster: CLUSTER, name: 'x-1', type: 'worker', nodeLabels: { pool: 'x' } })
    await kubelets.untilReady(['a-1', 'x-1'])
    await bed.startWorker()
    await makeNotReady(bed, 'x-1')
    await bed.kube.api.ok('PATCH', '/api/v1/nodes/x-1', { spec: { unschedulable: true } })
    const start = await bed.kube.audit.mark()

    const end = await bed.roll({ pools: { a: { ...A, offering: 'large' } } })

    expect(end).toMatchObject({
      kind: 'completed',
      result: { outcome: 'done', state: 'Running', done: { names: ['a-1'] } },
    })
    expect((await nodeWritesSince(bed, start)).filter((write) => write.includes('x-1'))).toEqual([])
    expect(bed.acts(false).filter((act) => act.endsWith('x-1'))).toEqual([])
    const left = await bed.node('x-1')
    expect(left.spec.unschedulable).toBe(true)
    expect(marksOf(left)).toEqual([])
  })

  it('CKS-00 control-plane nodes in no pool always count', async () => {
    await bed.startCluster({ control: 1, workers: 1 })
    await bed.startWorker()
    await makeNotReady(bed, 'c-1')
    const start = await bed.kube.audit.mark()

    const end = await bed.roll({ pools: { worker: { offering: 'large' } }, preflight: { timeout: '1s' } })

    expect(end).toMatchObject({ kind: 'failed', type: 'PreflightFailed' })
    expect(end).toHaveProperty('message', expect.stringMatching(/control node c-1 is not ready/))
    expect(await nodeWritesSince(bed, start)).toEqual([])
    expect(bed.acts(false)).toEqual([])
  })
})

describe('a type that cannot lose a node', () => {
  const ETCD = { etcd: { select: { machines: ['e-1', 'e-2'] }, offering: 'large' } }
  const SHAPES = [
    ['a single control node', { control: 1, etcd: 0 }, { control: { offering: 'large' } }, ['c-1']],
    [
      'two stacked control nodes',
      { control: 2, etcd: 0 },
      { control: { offering: 'large' } },
      ['c-1', 'c-2'],
    ],
    ['two etcd members', { control: 2, etcd: 2 }, ETCD, ['e-1', 'e-2']],
  ] as const satisfies [string, object, RolloutRequest['pools'], string[]][]

  it.each(SHAPES)('CKS-14 refuses settings that would put %s out of date', async (_, shape, pools, names) => {
    await bed.startCluster({ ...shape, workers: 1 })
    await bed.startWorker()
    const start = await bed.kube.audit.mark()

    const outcome = await outcomeOf({ pools: { ...pools, worker: { offering: 'large' } } }, start)

    expect(outcome).toMatchObject(refusedWith(...names.map((name) => `would put ${name} out of date`)))
  })

  it.each(SHAPES)(
    'CKS-14 skips and reports %s out of date already; the others roll',
    async (_, shape, pools, names) => {
      await bed.startCluster({ ...shape, workers: 2 })
      await bed.startWorker()
      await bed.roll({ rollout: false, pools })

      const end = await bed.roll({ pools: { worker: { offering: 'large' } } })

      expect(end).toMatchObject({
        kind: 'completed',
        result: { outcome: 'done', state: 'Running', done: { names: ['w-1', 'w-2'] } },
      })
      const lastError = (await bed.record())?.lastError
      for (const name of names) {
        expect(lastError).toMatch(new RegExp(`${name} \\(.*cannot lose a node`))
        expect(bed.acts(false).filter((act) => act.endsWith(name))).toEqual([])
        expect(machine(name).offering).toBe('small')
      }
    },
  )

  it('CKS-14 settings that change nothing, nodes that already differed and stopped nodes are no reason', async () => {
    await bed.startCluster({ control: 1, workers: 1 })
    await bed.startWorker()

    const same = await bed.roll({ pools: { control: { offering: 'small' } } })
    machine('c-1').offering = 'large'
    const differed = await bed.roll({ pools: { control: { offering: 'huge' } } })
    bed.cluster.cloud.act('c-1', { kind: 'stop' })
    const stopped = await bed.roll({ pools: { control: { offering: 'small' } } })

    expect(same).toMatchObject({ kind: 'completed', result: { outcome: 'done', done: { count: 0 } } })
    expect(differed).toMatchObject({
      kind: 'completed',
      result: { outcome: 'done', skipped: [{ name: 'c-1' }] },
    })
    expect(stopped).toMatchObject({
      kind: 'completed',
      result: { outcome: 'done', done: { names: ['c-1'] } },
    })
    expect(bed.acts()).toEqual(['setOffering c-1', 'start c-1'])
  })
})

describe('a cluster that is being updated', () => {
  const TAKE_OVER = /run releaseCluster with {"takeOver": "[^"]+"}/

  it('CKS-23 refuses everything else that would change it, naming the holder', async () => {
    await bed.startCluster({ workers: 1 })
    await bed.startWorker()
    const rollout = await pausedRollout(bed, { pools: { worker: { offering: 'large' } } })
    const holder = (await bed.leaseHolder()) ?? ''
    const record = await bed.record()
    const start = await bed.kube.audit.mark()

    const others = [
      await bed.start(bed.spec({ pools: { worker: { offering: 'huge' } } }), 'another'),
      await bed.start(bed.spec({ rollout: false, pools: { worker: { offering: 'huge' } } }), 'settings'),
      await bed.startType('releaseCluster', bed.target()),
      await bed.startType('releaseCluster', { ...bed.target(), takeOver: `${holder}x` }),
    ]
    const ends = await Promise.all(others.map((other) => bed.endOf(other)))

    expect(holder).toContain(`/${rollout.workflowId}/`)
    for (const end of ends) {
      expect(end).toMatchObject({ kind: 'failed', type: 'ClusterBusy' })
      expect(end).toHaveProperty('message', expect.stringContaining(`held by ${holder} since 2`))
      expect(end).toHaveProperty('message', expect.stringMatching(TAKE_OVER))
    }
    expect(await writesSince(bed, start)).toEqual([])
    expect(await bed.record()).toEqual(record)

    await rollout.signal('cancel')
    expect(await bed.endOf(rollout)).toMatchObject({ kind: 'completed', result: { outcome: 'cancelled' } })
    expect(await storedSettings(bed)).toMatchObject({ worker: { offerings: ['large'] } })
  })

  it('CKS-23 says so also when the rollout leaves machines and nodes that do not match', async () => {
    await bed.startCluster({ workers: 2 })
    await bed.startWorker()
    const rollout = await pausedRollout(bed, { pools: { worker: { offering: 'large' } } })
    await bed.kube.api.ok('DELETE', '/api/v1/nodes/w-2')

    const end = await bed.endOf(await bed.start(bed.spec({ pools: { worker: {} } }), 'another'))

    expect(end).toMatchObject({ kind: 'failed', type: 'ClusterBusy' })
    await rollout.signal('cancel')
    await bed.endOf(rollout)
  })
})
