import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { ClusterStatus } from '../../src/api/activities.js'
import { EXCLUDE_FROM_LOAD_BALANCERS as EXCLUDE } from '../../src/core/additions.js'
import { MARK_KEYS } from '../../src/core/marks.js'
import { batchesOf } from '../support/batch-history.js'
import { found, isCordoned, markAsLeft, nodeWrites, patchNode, untilEvent } from '../support/batch-nodes.js'
import { addBarePod, addBudget, BUDGETS, evictions, runWorkload } from '../support/batch-pods.js'
import { atLookOfAct } from '../support/drain-story.js'
import { marksOf, type Node, RolloutBed } from '../support/rollout-bed.js'
import { writesSince } from '../support/story-world.js'
import { startTemporal } from '../support/temporal.js'
import { waitUntil } from '../support/wait.js'

describe('quarantine of nodes whose drains cannot end', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  const DRAIN = { timeout: '2s', onBlocked: 'quarantine' } as const
  const SPEC = { pools: { worker: { offering: 'large' } }, drain: DRAIN }
  /** Where the outcome hangs on what an eviction was answered. */
  const PATIENT = { ...SPEC, drain: { ...DRAIN, timeout: '5s' } }

  /** A pod on each of these nodes, under a budget that never lets it go. */
  async function hold(...names: string[]): Promise<void> {
    for (const name of names) {
      await runWorkload(bed.kube.api, 'Deployment', `held-${name}`, { on: name })
      await addBudget(bed.kube.api, `held-${name}`, 1)
    }
  }

  async function free(name: string): Promise<void> {
    await bed.kube.api.ok('DELETE', `${BUDGETS}/held-${name}`)
  }

  function stops(): string[] {
    return bed.acts().filter((act) => act.startsWith('stop'))
  }

  function quarantineOf({ metadata }: Node): { reason: string; rollout: string; at: string } | null {
    const text = metadata.annotations?.[MARK_KEYS.quarantine]
    return text === undefined ? null : JSON.parse(text)
  }

  async function untilInQuarantine(name: string): Promise<void> {
    await waitUntil(async () => quarantineOf(await bed.node(name)) !== null, { for: `${name} in quarantine` })
  }

  it('CKS-16, K1, K3 quarantine: its siblings pass the barrier, others follow, and it is rolled at the end when its pods can go', async () => {
    await bed.startCluster({ workers: 4 })
    await hold('w-2')
    const before = await found(bed)
    let during: Node | null = null
    bed.cluster.cloud.onRequest({ call: 'stop', machine: 'w-3' }, async () => {
      during = await bed.node('w-2')
      await free('w-2')
    })
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const handle = await bed.start(
      bed.spec({ ...PATIENT, pools: { worker: { offering: 'large', maxUnavailable: 2 } } }),
    )
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({
      kind: 'completed',
      result: { done: { count: 4 }, failed: [], leftCordoned: [], state: 'Running', lastError: null },
    })
    expect(stops()).toEqual(['stop w-1', 'stop w-3', 'stop w-4', 'stop w-2'])
    expect((await batchesOf(handle)).map(({ nodes }) => nodes)).toEqual([
      ['w-1', 'w-2'],
      ['w-3'],
      ['w-4'],
      ['w-2'],
    ])
    const node = during as unknown as Node
    expect(isCordoned(node)).toBe(true)
    expect(quarantineOf(node)).toEqual({
      reason: expect.stringContaining('budget default/held-w-2 needs 1 healthy, has 1'),
      at: expect.any(String),
      rollout: expect.stringContaining('/cluster-rollout/prod/'),
    })
    expect(marksOf(node).sort()).toEqual([MARK_KEYS.attempt, MARK_KEYS.quarantine, MARK_KEYS.bootId])
    // Nobody works on it: the pods that stayed still serve.
    expect(node.metadata.labels).not.toHaveProperty([EXCLUDE])
    expect(node.metadata.annotations).not.toHaveProperty(['karpenter.sh/do-not-disrupt'])
    const written = (await nodeWrites(bed, position, 'w-2')).find(
      ({ requestBody }) => requestBody.metadata?.annotations?.[MARK_KEYS.quarantine],
    )
    const firstStop = bed.cluster.cloud.log.acts().find(({ call }) => call === 'stop')
    expect(written?.time).toBeLessThanOrEqual(firstStop?.at ?? 0)
    await untilEvent(bed, 'w-2', 'NoderollQuarantined')
    expect((await bed.node('w-2')).metadata.annotations).toEqual(before['w-2']?.annotations)
    for (const one of await bed.nodes()) {
      expect(marksOf(one)).toEqual([])
      expect(isCordoned(one)).toBe(false)
    }
  })

  it('CKS-21, CKS-22, K1 quarantine: what is still held at the end stays cordoned and marked, also through releases, and the next rollout takes it up', async () => {
    await bed.startCluster({ workers: 3 })
    await hold('w-2')
    await bed.startWorker()

    const handle = await bed.start(bed.spec(PATIENT))
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'DrainBlocked',
      message: expect.stringMatching(
        /w-2 is in quarantine since .*budget default\/held-w-2 needs 1 healthy, has 1.*start the rollout again/,
      ),
      result: {
        done: { names: ['w-1', 'w-3'] },
        failed: [{ node: 'w-2', step: 'drain', type: 'DrainBlocked' }],
        leftCordoned: [{ name: 'w-2', why: expect.stringContaining('in quarantine since') }],
        state: 'Alert',
        lastError: expect.stringContaining('w-2 is in quarantine since'),
      },
    })
    expect(stops()).toEqual(['stop w-1', 'stop w-3'])
    expect((await batchesOf(handle)).map(({ nodes }) => nodes)).toEqual([['w-1'], ['w-2'], ['w-3'], ['w-2']])
    const progress = await handle.query<{ notes: string[] }>('progress')
    expect(progress.notes[0]).toContain('w-2: in quarantine since')
    const left = await bed.node('w-2')
    expect(isCordoned(left)).toBe(true)
    expect(quarantineOf(left)).not.toBeNull()
    expect(left.metadata.labels).not.toHaveProperty([EXCLUDE])

    const position = await bed.kube.audit.mark()
    for (let i = 0; i < 2; i++) {
      const released = await bed.endOf(await bed.startType('releaseCluster', bed.target()))
      expect(released).toMatchObject({
        result: { givenBack: [], leftCordoned: [{ name: 'w-2' }], state: 'Alert' },
      })
    }
    expect(await writesSince(bed, position)).toEqual([])
    const status = await bed.endOf(await bed.startType('clusterStatus', bed.target()))
    expect((status as unknown as { result: ClusterStatus }).result.marked).toMatchObject([
      { name: 'w-2', pool: 'worker', why: expect.stringContaining('in quarantine since') },
    ])

    await free('w-2')
    const next = await bed.roll(PATIENT)

    expect(next).toMatchObject({
      kind: 'completed',
      result: { done: { names: ['w-2'] }, state: 'Running', lastError: null },
    })
    const back = await bed.node('w-2')
    expect(marksOf(back)).toEqual([])
    expect(isCordoned(back)).toBe(false)
    expect(back.metadata.labels).not.toHaveProperty([EXCLUDE])
  })

  it('K1 quarantine: one more blocked than the limit is put back as found and stops the rollout', async () => {
    await bed.startCluster({ workers: 3 })
    await hold('w-1', 'w-2')
    const before = await found(bed)
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll({ ...SPEC, drain: { ...DRAIN, quarantineLimit: 1 } })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'DrainBlocked',
      message: expect.stringContaining('w-1 is in quarantine already (drain.quarantineLimit 1)'),
      result: {
        done: { count: 0 },
        failed: [{ node: 'w-2', step: 'drain', outcome: expect.stringContaining('put back as found') }],
        leftCordoned: [{ name: 'w-1', why: expect.stringContaining('in quarantine') }],
        state: 'Alert',
        lastError: expect.stringMatching(/w-2.*left in quarantine: w-1/),
      },
    })
    expect(bed.acts(false)).toEqual([])
    expect(quarantineOf(await bed.node('w-1'))).not.toBeNull()
    expect(await nodeWrites(bed, position, 'w-3')).toEqual([])
    const { metadata, spec } = await bed.node('w-2')
    expect({ labels: metadata.labels, annotations: metadata.annotations }).toMatchObject({
      labels: before['w-2']?.labels,
      annotations: before['w-2']?.annotations,
    })
    expect(marksOf(await bed.node('w-2'))).toEqual([])
    expect(spec.unschedulable ?? false).toBe(false)
  })

  it('CKS-20, K1 quarantine: a cancel puts back the nodes that are being drained and leaves the one in quarantine', async () => {
    await bed.startCluster({ workers: 3 })
    await addBarePod(bed.kube.api, 'debug', 'w-1')
    await hold('w-2')
    const before = await found(bed)
    const position = await bed.kube.audit.mark()
    await bed.startWorker()
    const handle = await bed.start(
      bed.spec({
        pools: { worker: { offering: 'large', maxUnavailable: 2 } },
        drain: { ...DRAIN, timeout: '20s' },
      }),
    )
    await untilInQuarantine('w-1')
    await waitUntil(async () => (await evictions(bed.kube, position)).length > 0, { for: 'an eviction' })

    await handle.signal('cancel', { now: true, by: 'ann' })
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({
      kind: 'completed',
      result: {
        outcome: 'cancelled',
        leftCordoned: [{ name: 'w-1' }],
        state: 'Alert',
        lastError: expect.stringMatching(
          /cancelled by ann.*left in quarantine: w-1 \(.*default\/debug has no controller/,
        ),
      },
    })
    expect(bed.acts(false)).toEqual([])
    const node = await bed.node('w-1')
    expect(isCordoned(node)).toBe(true)
    expect(quarantineOf(node)).not.toBeNull()
    await waitUntil(async () => !isCordoned(await bed.node('w-2')), { for: 'w-2 put back' })
    expect(marksOf(await bed.node('w-2'))).toEqual([])
    expect((await bed.node('w-2')).metadata.labels).toEqual(before['w-2']?.labels)
  })

  it('CKS-24, K1 quarantine: outlives a killed worker; the node is rolled at the end all the same', async () => {
    await bed.startCluster({ workers: 3 })
    await hold('w-1')
    const worker = await bed.startWorkerProcess()
    const handle = await bed.start(bed.spec(PATIENT))
    await untilInQuarantine('w-1')
    worker.kill()
    await free('w-1')

    await bed.startWorker()
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({ kind: 'completed', result: { done: { count: 3 }, state: 'Running' } })
    expect(stops()).toEqual(['stop w-2', 'stop w-3', 'stop w-1'])
    expect((await bed.nodes()).flatMap(marksOf)).toEqual([])
  })

  it('CKS-21 quarantine: a release takes away what a terminated try has added, leaves the rest, and writes nothing the second time', async () => {
    await bed.startCluster({ workers: 2 })
    const before = await found(bed)
    await patchNode(bed, 'w-2', { metadata: { labels: { [EXCLUDE]: '' } } })
    await markAsLeft(bed, 'w-2', { quarantine: true, added: { labels: { [EXCLUDE]: null } } })
    await bed.startWorker()

    const first = await bed.endOf(await bed.startType('releaseCluster', bed.target()))
    const position = await bed.kube.audit.mark()
    const second = await bed.endOf(await bed.startType('releaseCluster', bed.target()))

    for (const released of [first, second]) {
      expect(released).toMatchObject({
        kind: 'completed',
        result: { givenBack: [], leftCordoned: [{ name: 'w-2' }] },
      })
    }
    expect(await writesSince(bed, position)).toEqual([])
    const node = await bed.node('w-2')
    expect(node.metadata.labels).toEqual(before['w-2']?.labels)
    expect(isCordoned(node)).toBe(true)
    expect(quarantineOf(node)).not.toBeNull()
  })

  it('K1 quarantine: a rollout that stops at a blocked drain leaves a node in quarantine as it found it', async () => {
    await bed.startCluster({ workers: 2 })
    await hold('w-1')
    await markAsLeft(bed, 'w-1', { quarantine: true })
    const before = await found(bed)
    await bed.startWorker()

    const end = await bed.roll({ ...SPEC, drain: { timeout: '2s' } })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'DrainBlocked',
      result: { leftCordoned: [{ name: 'w-1' }] },
    })
    expect(bed.acts(false)).toEqual([])
    const { labels, spec } = before['w-1'] ?? {}
    const node = await bed.node('w-1')
    expect(node.metadata.labels).toEqual(labels)
    expect(node.spec).toEqual(spec)
    expect(quarantineOf(node)).toMatchObject({ reason: 'its pods did not go' })
  })

  it('B03, K1 quarantine: a pod that comes after the drain and may not go keeps the machine from being stopped', async () => {
    await bed.startCluster({ workers: 2 })
    atLookOfAct(bed, 'w-1', () => addBarePod(bed.kube.api, 'debug', 'w-1'))
    await bed.startWorker()

    const end = await bed.roll(SPEC)

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'DrainBlocked',
      result: { done: { names: ['w-2'] }, failed: [{ node: 'w-1' }], leftCordoned: [{ name: 'w-1' }] },
    })
    expect(stops()).toEqual(['stop w-2'])
    expect(quarantineOf(await bed.node('w-1'))?.reason).toContain('default/debug has no controller')
  })

  it('CKS-22, K1 quarantine: one more try and not more, also when the rollout continues as new in between', async () => {
    const temporal = await startTemporal({ suggestContinueAsNew: 60 })
    const own = await RolloutBed.open(temporal)
    onTestFinished(async () => {
      await own.clean()
      await own.close()
      await temporal.stop()
    })
    await own.startCluster({ workers: 3 })
    await runWorkload(own.kube.api, 'Deployment', 'held-w-1', { on: 'w-1' })
    await addBudget(own.kube.api, 'held-w-1', 1)
    const position = await own.kube.audit.mark()
    await own.startWorker()

    const handle = await own.start(own.spec(SPEC))
    const { firstExecutionRunId: first } = handle as unknown as { firstExecutionRunId: string }
    const end = await own.endOf(handle)

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'DrainBlocked',
      result: { done: { names: ['w-2', 'w-3'] }, failed: [{ node: 'w-1' }], state: 'Alert' },
    })
    const { runId } = await own.client.workflow.getHandle(handle.workflowId).describe()
    expect(runId).not.toBe(first)
    const marked = (await nodeWrites(own, position, 'w-1')).filter(
      ({ requestBody, code }) => code === 200 && requestBody.metadata?.annotations?.[MARK_KEYS.quarantine],
    )
    expect(marked).toHaveLength(2)
  })
})
