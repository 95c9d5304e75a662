import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { MARK_KEYS } from '../../src/core/marks.js'
import type { AuditRecord } from '../support/audit.js'
import {
  behindProxy,
  cordon,
  expectAsFound,
  found,
  isCordoned,
  labelNodes,
  nodeWrites,
  patchNode,
  untilEvent,
} from '../support/batch-nodes.js'
import { bindTo, evictions, podsOf, runWorkload } from '../support/batch-pods.js'
import { pass } from '../support/proxy.js'
import { marksOf, RolloutBed } from '../support/rollout-bed.js'

describe('the marks on a node', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
    bed.keepsWorker = true
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  const TO_LARGE = { pools: { worker: { offering: 'large' } } }

  function annotationsIn(write: AuditRecord): Record<string, unknown> {
    return write.requestBody?.metadata?.annotations ?? {}
  }

  it('CKS-15 writes boot id, attempt and cordon in one patch that carries the resourceVersion', async () => {
    await bed.startCluster({ workers: 1 })
    const { metadata, status } = await bed.node('w-1')
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end.kind).toBe('completed')
    const writes = await nodeWrites(bed, position, 'w-1')
    // What the node controller writes in between is refused, and sent again.
    const [first, ...later] = writes.filter(({ code }) => code === 200)
    expect(first).toMatchObject({
      verb: 'patch',
      code: 200,
      requestBody: {
        metadata: {
          resourceVersion: expect.stringMatching(/^\d+$/),
          annotations: {
            [MARK_KEYS.bootId]: status.nodeInfo.bootID,
            [MARK_KEYS.attempt]: expect.stringContaining(metadata.uid),
          },
        },
        spec: { unschedulable: true },
      },
    })
    expect(later).toHaveLength(2)
    for (const write of writes) {
      expect(write.requestBody.metadata.resourceVersion).toMatch(/^\d+$/)
    }
  })

  it('CKS-15 says on every node of a batch which act comes, and reads it back, before the node is stopped', async () => {
    await bed.startCluster({ workers: 3 })
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll({ pools: { worker: { offering: 'large', maxUnavailable: 2 } } })

    expect(end.kind).toBe('completed')
    const writes = await nodeWrites(bed, position)
    const reads = await bed.kube.audit.since(position, { user: 'noderoll', verb: 'get', resource: 'nodes' })
    for (const name of ['w-1', 'w-2', 'w-3']) {
      const acting = writes.find(
        (write) =>
          write.code === 200 && write.name === name && annotationsIn(write)[MARK_KEYS.acting] !== undefined,
      )
      const stop = bed.cluster.cloud.log
        .acts()
        .find(({ call, machine }) => call === 'stop' && machine === name)
      expect(acting?.code).toBe(200)
      expect(JSON.parse(String(annotationsIn(acting as AuditRecord)[MARK_KEYS.acting]))).toEqual({
        act: 'stop',
        at: expect.any(String),
        rollout: expect.stringContaining('/cluster-rollout/prod/'),
        token: expect.any(String),
      })
      const markedAt = acting?.time ?? Number.POSITIVE_INFINITY
      const stoppedAt = stop?.at ?? 0
      expect(markedAt).toBeLessThanOrEqual(stoppedAt)
      expect(
        reads.filter((read) => read.name === name && read.time >= markedAt && read.time <= stoppedAt),
      ).not.toEqual([])
    }
  })

  it('B14, CKS-15 leaves a node cordoned that somebody else has cordoned, with no boot-id annotation at any time', async () => {
    await bed.startCluster({ workers: 3 })
    await cordon(bed, 'w-2')
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end).toMatchObject({ kind: 'completed', result: { done: { count: 3 }, state: 'Running' } })
    const writes = await nodeWrites(bed, position, 'w-2')
    // Our mark was there, and is gone.
    const marked = writes.map((write) => annotationsIn(write)[MARK_KEYS.attempt])
    expect([typeof marked.find((mark) => mark !== undefined), marked.at(-1)]).toEqual(['string', null])
    for (const write of writes) {
      expect(annotationsIn(write)[MARK_KEYS.bootId] ?? null).toBeNull()
      expect(write.requestBody).not.toHaveProperty('spec')
    }
    const nodes = await bed.nodes()
    expect(nodes.map((node) => [node.metadata.name, isCordoned(node)])).toEqual([
      ['w-1', false],
      ['w-2', true],
      ['w-3', false],
    ])
    expect(nodes.flatMap(marksOf)).toEqual([])
  })

  it('B14 changes nothing when release is asked for once more', async () => {
    await bed.startCluster({ workers: 2 })
    await cordon(bed, 'w-2')
    await bed.startWorker()
    await bed.roll(TO_LARGE)
    await untilEvent(bed, 'w-2', 'NoderollGivenBack')
    const position = await bed.kube.audit.mark()

    const handle = await bed.startType('releaseCluster', bed.target())
    const released = await bed.endOf(handle)

    expect(released).toMatchObject({ kind: 'completed', result: { state: 'Running', givenBack: [] } })
    await bed.kube.audit.settled()
    expect(await bed.kube.audit.writes(position, 'noderoll')).toEqual([])
    expect(isCordoned(await bed.node('w-2'))).toBe(true)
  })

  it('K3 gives nodes back with the labels, annotations and taints of others as they were', async () => {
    await bed.startCluster({ workers: 2 })
    await labelNodes(bed, ['w-1', 'w-2'], { team: 'shop' })
    await patchNode(bed, 'w-1', {
      metadata: { annotations: { 'example.com/owner': 'shop' } },
      spec: { taints: [{ key: 'example.com/dedicated', value: 'shop', effect: 'NoSchedule' }] },
    })
    const before = await found(bed)
    await bed.startWorker()

    const end = await bed.roll({ pools: { worker: { rootDiskGiB: 80 } } })

    expect(end).toMatchObject({ kind: 'completed', result: { done: { count: 2 } } })
    await expectAsFound(bed, before)
  })

  it('CKS-15 decides again when somebody writes to the node between look and patch', async () => {
    await bed.startCluster({ workers: 1 })
    const { proxy, kubernetes } = await behindProxy(bed)
    // noderoll has read the node and is about to cordon it: an administrator is quicker.
    const rule = proxy.on(
      { method: 'PATCH', path: '/api/v1/nodes/w-1' },
      async () => {
        await patchNode(bed, 'w-1', {
          metadata: { labels: { repair: 'yes' } },
          spec: { unschedulable: true },
        })
        return pass()
      },
      { times: 1 },
    )
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll({ ...TO_LARGE, kubernetes })

    expect(rule.hits).toHaveLength(1)
    const [refused, ...accepted] = await nodeWrites(bed, position, 'w-1')
    expect(refused).toMatchObject({ code: 409, requestBody: { spec: { unschedulable: true } } })
    for (const write of accepted) expect(write.requestBody).not.toHaveProperty('spec')
    expect(end.kind).toBe('completed')
    const node = await bed.node('w-1')
    expect(isCordoned(node)).toBe(true)
    expect(node.metadata.labels).toMatchObject({ repair: 'yes' })
    expect(marksOf(node)).toEqual([])
  })

  it('CKS-15, B03 does not stop a node that is uncordoned right before its acting mark, and drains it again', async () => {
    await bed.startCluster({ workers: 1 })
    await runWorkload(bed.kube.api, 'Deployment', 'newcomer', { on: { nowhere: 'yes' }, untilReady: false })
    const [newcomer] = await podsOf(bed.kube.api, 'newcomer')
    const { proxy, kubernetes } = await behindProxy(bed)
    // noderoll has seen the node cordoned and empty, and is about to write that it will be stopped.
    let isUncordoned = false
    proxy.on({ method: 'PATCH', path: '/api/v1/nodes/w-1' }, async ({ body }) => {
      if (isUncordoned || !body.includes(MARK_KEYS.acting)) return undefined
      isUncordoned = true
      await patchNode(bed, 'w-1', { spec: { unschedulable: false } })
      await bindTo(bed.kube.api, newcomer, 'w-1')
      return pass()
    })
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll({ ...TO_LARGE, kubernetes })

    expect(isUncordoned).toBe(true)
    expect(end.kind).toBe('completed')
    const evicted = (await evictions(bed.kube, position)).filter(({ code }) => code === 201)
    expect(evicted.map(({ name }) => name)).toEqual([newcomer?.metadata.name])
    const [stop, ...more] = bed.cluster.cloud.log.acts().filter(({ call }) => call === 'stop')
    expect(more).toEqual([])
    expect(stop?.at).toBeGreaterThanOrEqual(evicted[0]?.time ?? Number.POSITIVE_INFINITY)
  })
})
