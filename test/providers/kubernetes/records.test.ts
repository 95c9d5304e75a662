import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type ClusterRecord, EMPTY_RECORD } from '../../../src/core/record.js'
import type { Records } from '../../../src/ports/records.js'
import { kubernetesRecords } from '../../../src/providers/kubernetes/records.js'
import { pretend } from '../../support/proxy.js'
import { Bed, patient, portError } from './bed.js'

const CONFIG_MAP = '/api/v1/namespaces/kube-system/configmaps/noderoll'
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/noderoll'
const HOLDER = `temporal.example.org:7233/default/cluster-rollout/${'prod-'.repeat(60)}/0198c5a2`

const RECORD: ClusterRecord = {
  cluster: 'prod-eu',
  identity: 'b8e5f6c1-0b6e-4a64-9c8c-0d3a3c0a7a10',
  state: 'Updating',
  rollout: HOLDER,
  pools: {
    worker: {
      type: 'worker',
      select: { kind: 'labels', labels: { pool: 'blue' } },
      settings: { offerings: ['L', 'M'], rootDiskGiB: 100, affinityGroups: [] },
    },
    control: {
      type: 'control',
      select: { kind: 'controlPlaneRole' },
      settings: { offerings: null, rootDiskGiB: null, affinityGroups: null },
    },
    etcd: {
      type: 'etcd',
      select: { kind: 'machines', names: ['e1', 'e2', 'e3'] },
      settings: { offerings: ['S'], rootDiskGiB: null, affinityGroups: ['spread'] },
    },
  },
  poolOrder: ['etcd', 'control', 'worker'],
  capacity: { machines: 9, cpu: 52, memoryMiB: 212_992 },
  lastError: 'drain of w-2 blocked: budget shop/web needs 2 healthy, has 2',
  before: { rollout: HOLDER, state: 'Running', pools: {}, poolOrder: [], lastError: null },
  lastForced: { at: '2026-01-01T00:00:00.000Z', pod: 'shop/web-1', node: 'w-2' },
}

let bed: Bed
let records: Records

beforeAll(async () => {
  bed = await Bed.start()
  records = (await bed.open()).records
})

beforeEach(async () => {
  await bed.clean()
})

afterAll(async () => {
  await bed?.stop()
})

describe('the ConfigMap', () => {
  it('is the empty record while there is none', async () => {
    expect(await records.read(patient())).toEqual({ value: EMPTY_RECORD, version: null })
  })

  it.each([
    ['full', RECORD],
    ['empty', EMPTY_RECORD],
  ])('gives back what was written: %s', async (_, record) => {
    const written = await records.write(record, null, patient())

    expect(written.value).toEqual(record)
    expect(await records.read(patient())).toEqual(written)
  })

  it('has keys that other programs can read', async () => {
    await records.write(RECORD, null, patient())

    const { data, metadata } = await bed.admin.ok('GET', CONFIG_MAP)
    expect(metadata.labels).toEqual({ 'app.kubernetes.io/managed-by': 'noderoll' })
    expect(data).toMatchObject({ version: '1', cluster: 'prod-eu', state: 'Updating', rollout: HOLDER })
    expect(JSON.parse(data.pools)).toEqual(RECORD.pools)
    expect(JSON.parse(data.before)).toEqual(RECORD.before)
  })

  it('CKS-07 is written compare-and-set: the second of two writers is told', async () => {
    const first = await records.write(EMPTY_RECORD, null, patient())
    await records.write({ ...EMPTY_RECORD, state: 'Updating' }, first.version, patient())

    const late = records.write({ ...EMPTY_RECORD, state: 'Alert' }, first.version, patient())

    await expect(late).rejects.toEqual(
      portError('conflict', /ConfigMap kube-system\/noderoll: somebody else/),
    )
    expect((await records.read(patient())).value.state).toBe('Updating')
  })

  it('CKS-07 of two that create it at once, one is told', async () => {
    const states = ['Running', 'Alert'] as const
    const both = await Promise.allSettled(
      states.map((state) => records.write({ ...EMPTY_RECORD, state }, null, patient())),
    )

    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(both.find(({ status }) => status === 'rejected')).toMatchObject({ reason: portError('conflict') })
  })

  it('is a conflict when it was deleted since', async () => {
    const { version } = await records.write(RECORD, null, patient())
    await bed.admin.ok('DELETE', CONFIG_MAP)

    await expect(records.write(EMPTY_RECORD, version, patient())).rejects.toEqual(portError('conflict'))
  })

  it('CKS-21 a write that changes nothing is not sent', async () => {
    const { version } = await records.write(RECORD, null, patient())
    const { worker, control, etcd } = RECORD.pools
    const start = await bed.controlPlane.audit.mark()

    const again = { ...RECORD, pools: { etcd, control, worker } } as ClusterRecord
    expect(await records.write(again, version, patient())).toMatchObject({ version })

    await bed.controlPlane.audit.settled()
    expect(await bed.controlPlane.audit.writes(start, 'noderoll')).toEqual([])
  })

  it('what others wrote on it stays', async () => {
    const { version } = await records.write(RECORD, null, patient())
    await bed.admin.ok('PATCH', CONFIG_MAP, {
      metadata: { labels: { team: 'blue' }, annotations: { note: 'hands off' } },
      data: { remark: 'written by a person' },
    })
    await expect(records.write(EMPTY_RECORD, version, patient())).rejects.toEqual(portError('conflict'))

    await records.write(EMPTY_RECORD, (await records.read(patient())).version, patient())

    const { data, metadata } = await bed.admin.ok('GET', CONFIG_MAP)
    expect(metadata).toMatchObject({ labels: { team: 'blue' }, annotations: { note: 'hands off' } })
    expect(data).toEqual({ version: '1', pools: '{}', poolOrder: '[]', remark: 'written by a person' })
  })

  it('is a conflict when the answer is 200 and the write was dropped', async () => {
    const { version } = await records.write(EMPTY_RECORD, null, patient())
    bed.proxy.on({ method: 'PUT' }, pretend())

    await expect(records.write(RECORD, version, patient())).rejects.toEqual(
      portError('conflict', /accepted, but not stored/),
    )
  })

  it.each([
    ['of a later version', { version: '2' }, /has version "2", and this noderoll understands 1/],
    ['of no version', { hello: 'world' }, /has no version/],
    ['with JSON that is none', { version: '1', pools: '{' }, /cannot be understood at pools: it is not JSON/],
    ['with a state it does not know', { version: '1', state: 'Fine' }, /cannot be understood at state/],
    [
      'with a pool it does not know',
      { version: '1', pools: '{"w":{"type":"gpu"}}' },
      /cannot be understood at pools\.w\.type/,
    ],
  ])('is refused, and left alone, when it is %s', async (_, data, message) => {
    await bed.admin.ok('POST', CONFIG_MAP.replace('/noderoll', ''), { metadata: { name: 'noderoll' }, data })

    await expect(records.read(patient())).rejects.toEqual(portError('refused', message))
  })

  it('says which namespace does not exist', async () => {
    const access = { ...(await bed.access({})), namespace: 'nowhere' }
    const { api } = await bed.open()

    const written = kubernetesRecords(access, api).write(RECORD, null, patient())

    await expect(written).rejects.toEqual(portError('refused', /nowhere/))
  })
})

describe('the Lease', () => {
  const taken = { holder: HOLDER, since: '2026-01-02T03:04:05.678Z' }

  it('is free while there is none', async () => {
    expect(await records.lease(patient())).toEqual({ value: { holder: null, since: null }, version: null })
  })

  it('is taken by creating it, given back, and taken again', async () => {
    const created = await records.writeLease(taken, null, patient())
    expect(created.value).toEqual(taken)
    expect(await records.lease(patient())).toEqual(created)

    const free = await records.writeLease({ holder: null, since: null }, created.version, patient())
    expect(await records.lease(patient())).toEqual({ ...free, value: { holder: null, since: null } })

    await records.writeLease(taken, free.version, patient())
    expect((await records.lease(patient())).value).toEqual(taken)
    expect((await bed.admin.ok('GET', LEASE)).spec).toEqual({
      holderIdentity: HOLDER,
      acquireTime: '2026-01-02T03:04:05.678000Z',
    })
  })

  it('CKS-23 of twenty that take it at once, one has it', async () => {
    const free = await records.writeLease({ holder: null, since: null }, null, patient())
    const holders = Array.from({ length: 20 }, (_, index) => `rollout-${index}`)
    const tried = await Promise.allSettled(
      holders.map((holder) => records.writeLease({ ...taken, holder }, free.version, patient())),
    )

    const winners = tried.flatMap((one) => (one.status === 'fulfilled' ? [one.value.value.holder] : []))
    expect(winners).toHaveLength(1)
    expect((await records.lease(patient())).value.holder).toBe(winners[0])
    const reasons = tried.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    expect(reasons).toEqual(reasons.map(() => portError('conflict')))
  })

  it('is a conflict when the answer is 200 and the write was dropped', async () => {
    const { version } = await records.writeLease({ holder: null, since: null }, null, patient())
    bed.proxy.on({ method: 'PUT' }, pretend())

    await expect(records.writeLease(taken, version, patient())).rejects.toEqual(portError('conflict'))
  })

  it('a write that changes nothing is not sent', async () => {
    const { version } = await records.writeLease(taken, null, patient())

    expect(await records.writeLease(taken, version, patient())).toEqual({ value: taken, version })
    expect(bed.proxy.requests.filter(({ method }) => method === 'PUT')).toEqual([])
  })
})
