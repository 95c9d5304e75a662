import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { AuditRecord } from '../support/audit.js'
import { stepsOpenAt } from '../support/batch-history.js'
import {
  eventsOn,
  expectAsFound,
  found,
  isCordoned,
  labelNodes,
  nodeEvents,
  nodeWrites,
  patchNode,
} from '../support/batch-nodes.js'
import {
  addBarePod,
  addBudget,
  BUDGETS,
  bindTo,
  evictions,
  PODS,
  podsOf,
  runWorkload,
} from '../support/batch-pods.js'
import { RolloutBed } from '../support/rollout-bed.js'
import { waitUntil } from '../support/wait.js'

describe('the drain of a node', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  /** Stays pending until the test binds it. */
  const NOWHERE = { on: { stage: 'nowhere' }, untilReady: false }
  const TO_LARGE = { pools: { worker: { offering: 'large' } } }

  function onlyW1OutOfDate(): void {
    for (const { name } of bed.cluster.machines) {
      if (name !== 'w-1') bed.cluster.cloud.machine(name).offering = 'large'
    }
  }

  /** A StatefulSet whose pod runs on w-1 and would come back on w-2. */
  async function runWeb(): Promise<void> {
    await labelNodes(bed, ['w-1', 'w-2'], { stage: 'a' })
    await found(bed)
    await runWorkload(bed.kube.api, 'StatefulSet', 'web', { on: { stage: 'a' }, preferred: 'w-1' })
    const [pod] = await podsOf(bed.kube.api, 'web')
    expect(pod?.spec.nodeName).toBe('w-1')
  }

  function stoppedAt(name: string): number | undefined {
    return bed.cluster.cloud.log.acts().find(({ call, machine }) => call === 'stop' && machine === name)?.at
  }

  function uidIn(eviction: AuditRecord): unknown {
    return eviction.requestBody?.deleteOptions?.preconditions?.uid
  }

  async function untilEvictionOf(app: string, since: number): Promise<void> {
    await waitUntil(async () => (await evictions(bed.kube, since)).some(({ name }) => name.startsWith(app)), {
      for: `an eviction of ${app}`,
    })
  }

  /** When the kubelet said that a pod's containers had ended. */
  async function goneAt(since: number, podName: string | undefined): Promise<number> {
    await bed.kube.audit.settled()
    const deletions = await bed.kube.audit.since(since, { user: 'kubelet', verb: 'delete', resource: 'pods' })
    return deletions.find(({ name }) => name === podName)?.time ?? Number.NaN
  }

  it('B15, CKS-16, CKS-26, K1 fails when a budget never allows an eviction: node as found, no act, no other node written to', async () => {
    await bed.startCluster({ workers: 3 })
    await runWorkload(bed.kube.api, 'Deployment', 'held', { on: 'w-1' })
    await addBudget(bed.kube.api, 'held', 1)
    const [pod] = await podsOf(bed.kube.api, 'held')
    const before = await found(bed)
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll({ ...TO_LARGE, drain: { timeout: '3s' } })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'DrainBlocked',
      message: expect.stringContaining(
        `budget default/held needs 1 healthy, has 1; holds 1 pod: default/${pod?.metadata.name}`,
      ),
      result: {
        done: { count: 0 },
        failed: [{ node: 'w-1', step: 'drain', outcome: expect.stringContaining('put back as found') }],
        leftCordoned: [],
        state: 'Running',
        pools: [{ pool: 'worker', machines: 3, outOfDate: 3, unavailable: 0 }],
      },
    })
    expect(bed.acts(false)).toEqual([])
    expect(await nodeWrites(bed, position, 'w-2')).toEqual([])
    expect(await nodeWrites(bed, position, 'w-3')).toEqual([])
    expect((await evictions(bed.kube, position)).map(({ code }) => code)).not.toContain(201)
    expect((await podsOf(bed.kube.api, 'held')).map(({ metadata }) => metadata.uid)).toEqual([
      pod?.metadata.uid,
    ])
    await expectAsFound(bed, before)
    expect(await bed.leaseHolder()).toBeNull()
  })

  it('CKS-16, K1 ends the drains of the other nodes when one fails, and only then puts all of them back', async () => {
    await bed.startCluster({ workers: 3 })
    for (const node of ['w-1', 'w-2']) {
      await runWorkload(bed.kube.api, 'Deployment', `held-${node}`, { on: node })
      await addBudget(bed.kube.api, `held-${node}`, 1)
    }
    const before = await found(bed)
    const position = await bed.kube.audit.mark()
    await bed.startWorker()
    const handle = await bed.start(bed.spec({ pools: { worker: { offering: 'large', maxUnavailable: 2 } } }))
    await untilEvictionOf('held-w-1', position)
    await untilEvictionOf('held-w-2', position)

    await addBarePod(bed.kube.api, 'debug', 'w-1')
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'DrainRefused',
      message: expect.stringMatching(/drain of w-1 is refused: pod default\/debug has no controller/),
      result: { failed: [{ node: 'w-1', step: 'drain' }], leftCordoned: [] },
    })
    const { events } = await handle.fetchHistory()
    expect(events?.filter((event) => event.activityTaskCanceledEventAttributes)).toHaveLength(1)
    expect(await stepsOpenAt(handle, 'undoNodes')).toEqual([])
    expect(bed.acts(false)).toEqual([])
    const uncordons = (await nodeWrites(bed, position)).filter(
      ({ requestBody }) => requestBody.spec?.unschedulable === false,
    )
    expect(uncordons.map(({ name }) => name).sort()).toEqual(['w-1', 'w-2'])
    const lastEviction = Math.max(...(await evictions(bed.kube, position)).map(({ time }) => time))
    expect(lastEviction).toBeLessThanOrEqual(Math.min(...uncordons.map(({ time }) => time)))
    await expectAsFound(bed, before)
  })

  it('CKS-16, K1 evicts nothing at all when a pod may not be evicted', async () => {
    await bed.startCluster({ workers: 2 })
    await runWorkload(bed.kube.api, 'Deployment', 'web', { on: 'w-1', replicas: 2 })
    await addBarePod(bed.kube.api, 'debug', 'w-1')
    const before = await found(bed)
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'DrainRefused',
      message: expect.stringContaining('allow it in the spec (drain.barePods, drain.emptyDir)'),
    })
    expect(await evictions(bed.kube, position)).toEqual([])
    expect(bed.acts(false)).toEqual([])
    await expectAsFound(bed, before)
  })

  it('CKS-16 stops no machine of a batch before all of its drains have succeeded', async () => {
    await bed.startCluster({ workers: 3 })
    await runWorkload(bed.kube.api, 'Deployment', 'slow', { on: 'w-2', graceSeconds: 2 })
    const [pod] = await podsOf(bed.kube.api, 'slow')
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll({ pools: { worker: { offering: 'large', maxUnavailable: 2 } } })

    expect(end).toMatchObject({ kind: 'completed', result: { done: { count: 3 } } })
    const slowEnd = await goneAt(position, pod?.metadata.name)
    expect(stoppedAt('w-1')).toBeGreaterThanOrEqual(slowEnd)
    expect(stoppedAt('w-2')).toBeGreaterThanOrEqual(slowEnd)
  })

  it('B01 is done when the UID is gone, though a StatefulSet pod of the same name runs elsewhere', async () => {
    await bed.startCluster({ workers: 3 })
    onlyW1OutOfDate()
    await runWeb()
    const [old] = await podsOf(bed.kube.api, 'web')
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1'] } } })
    const asked = await evictions(bed.kube, position)
    expect(asked.map((eviction) => [eviction.name, eviction.code, uidIn(eviction)])).toEqual([
      ['web-0', 201, old?.metadata.uid],
    ])
    const [replacement] = await podsOf(bed.kube.api, 'web')
    expect(replacement).toMatchObject({ metadata: { name: 'web-0' }, spec: { nodeName: 'w-2' } })
    expect(replacement?.metadata.uid).not.toBe(old?.metadata.uid)
    expect(replacement?.metadata.deletionTimestamp).toBeUndefined()
  })

  it('B01 does not evict the replacement when somebody else moves a pod whose eviction is refused', async () => {
    await bed.startCluster({ workers: 3 })
    onlyW1OutOfDate()
    await runWeb()
    await addBudget(bed.kube.api, 'web', 1)
    const [old] = await podsOf(bed.kube.api, 'web')
    const position = await bed.kube.audit.mark()
    await bed.startWorker()
    const handle = await bed.start(bed.spec(TO_LARGE))
    await untilEvictionOf('web-0', position)

    const movedAt = Date.now()
    await bed.kube.api.ok('DELETE', `${PODS}/web-0`)
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1'] } } })
    const asked = await evictions(bed.kube, position)
    expect(new Set(asked.map(uidIn))).toEqual(new Set([old?.metadata.uid]))
    expect(asked.map(({ code }) => code)).not.toContain(201)
    // Long before the 20 s that the drain has.
    expect((stoppedAt('w-1') ?? Number.NaN) - movedAt).toBeLessThan(8_000)
    const [replacement] = await podsOf(bed.kube.api, 'web')
    expect(replacement?.spec.nodeName).toBe('w-2')
    expect(replacement?.metadata.deletionTimestamp).toBeUndefined()
  })

  it('B02 stops a machine only after its terminating pods are gone, and waits for no DaemonSet pod', async () => {
    await bed.startCluster({ workers: 2 })
    onlyW1OutOfDate()
    await runWorkload(bed.kube.api, 'Deployment', 'slow', { on: 'w-1', graceSeconds: 3 })
    await runWorkload(bed.kube.api, 'DaemonSet', 'agent', {
      on: 'w-1',
      annotations: { 'simulation.noderoll.io/ignores-termination': 'true' },
    })
    const [slow] = await podsOf(bed.kube.api, 'slow')
    const [agent] = await podsOf(bed.kube.api, 'agent')
    await bed.kube.api.ok('DELETE', `${PODS}/${agent?.metadata.name}`)
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1'] } } })
    const slowEnd = await goneAt(position, slow?.metadata.name)
    expect(stoppedAt('w-1')).toBeGreaterThanOrEqual(slowEnd)
    expect((await evictions(bed.kube, position)).map(({ name }) => name)).toEqual([slow?.metadata.name])
  })

  it('B02, K1 names pod and finalizer when a finalizer keeps a pod, and never takes the finalizer away', async () => {
    await bed.startCluster({ workers: 2 })
    await runWorkload(bed.kube.api, 'Deployment', 'sticky', {
      on: 'w-1',
      finalizers: ['example.com/hold'],
    })
    const [pod] = await podsOf(bed.kube.api, 'sticky')
    const before = await found(bed)
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll({ ...TO_LARGE, drain: { timeout: '3s' } })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'DrainBlocked',
      message: expect.stringContaining(
        `pod default/${pod?.metadata.name} is terminating, held by finalizer example.com/hold`,
      ),
    })
    const still = await bed.kube.api.ok('GET', `${PODS}/${pod?.metadata.name}`)
    expect(still.metadata.finalizers).toEqual(['example.com/hold'])
    expect((await evictions(bed.kube, position)).map(({ name }) => name)).toEqual([pod?.metadata.name])
    const writes = await bed.kube.audit.writes(position, 'noderoll')
    expect(writes.filter(({ resource, subresource }) => resource === 'pods' && subresource === '')).toEqual(
      [],
    )
    expect(bed.acts(false)).toEqual([])
    await expectAsFound(bed, before)
  })

  it('B03 cordons again when somebody uncordons in mid-drain, says so, and evicts who came meanwhile', async () => {
    await bed.startCluster({ workers: 2 })
    onlyW1OutOfDate()
    await runWorkload(bed.kube.api, 'Deployment', 'held', { on: 'w-1' })
    await addBudget(bed.kube.api, 'held', 1)
    const position = await bed.kube.audit.mark()
    await bed.startWorker()
    const handle = await bed.start(bed.spec(TO_LARGE))
    await untilEvictionOf('held', position)

    await runWorkload(bed.kube.api, 'Deployment', 'newcomer', NOWHERE)
    const [newcomer] = await podsOf(bed.kube.api, 'newcomer')
    await patchNode(bed, 'w-1', { spec: { unschedulable: false } })
    await bindTo(bed.kube.api, newcomer, 'w-1')
    await waitUntil(async () => isCordoned(await bed.node('w-1')), { for: 'the cordon to be back' })
    await bed.kube.api.ok('DELETE', `${BUDGETS}/held`)
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1'] } } })
    expect(await eventsOn(bed, 'w-1')).toContain('CordonedAgain')
    const evicted = (await evictions(bed.kube, position)).filter(({ code }) => code === 201)
    const asked = evicted.find(({ name }) => name === newcomer?.metadata.name)
    const [first, again, ...more] = (await nodeWrites(bed, position, 'w-1')).filter(
      ({ requestBody, code }) => code === 200 && requestBody.spec?.unschedulable === true,
    )
    expect([first, again, more]).toEqual([expect.anything(), expect.anything(), []])
    // Before or after the second cordon: pods and nodes are told by two watches.
    expect(asked).toBeDefined()
    expect(stoppedAt('w-1')).toBeGreaterThanOrEqual(await goneAt(position, newcomer?.metadata.name))
  })

  it.each([
    ['a pod comes', true],
    ['nothing comes', false],
  ])(
    'B03 drains again when the cordon is lost between the drain and the stop and %s',
    async (_what, comes) => {
      await bed.startCluster({ workers: 2 })
      onlyW1OutOfDate()
      await runWorkload(bed.kube.api, 'Deployment', 'newcomer', NOWHERE)
      const [newcomer] = await podsOf(bed.kube.api, 'newcomer')
      let looks = 0
      const unsubscribe = bed.cluster.cloud.onRequest({ call: 'get', machine: 'w-1' }, async () => {
        looks += 1
        // The first look is the cordon's, the second one the stop's: the drain has ended.
        if (looks < 2) return
        unsubscribe()
        await patchNode(bed, 'w-1', { spec: { unschedulable: false } })
        if (comes) await bindTo(bed.kube.api, newcomer, 'w-1')
      })
      const position = await bed.kube.audit.mark()
      await bed.startWorker()

      const end = await bed.roll(TO_LARGE)

      expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1'] } } })
      const stop = stoppedAt('w-1') ?? Number.NaN
      const cordons = (await nodeWrites(bed, position, 'w-1')).filter(
        ({ requestBody, time }) => requestBody.spec?.unschedulable === true && time <= stop,
      )
      expect(cordons).toHaveLength(2)
      const evicted = (await evictions(bed.kube, position)).map(({ name }) => name)
      expect(evicted).toEqual(comes ? [newcomer?.metadata.name] : [])
      expect(stop).toBeGreaterThanOrEqual(comes ? await goneAt(position, newcomer?.metadata.name) : 0)
      expect(isCordoned(await bed.node('w-1'))).toBe(false)
    },
  )

  it('CKS-16 what was deleted past its budget is in the result and an event on the node', async () => {
    await bed.startCluster({ workers: 2 })
    onlyW1OutOfDate()
    await allowForce()
    await runWorkload(bed.kube.api, 'Deployment', 'held', { on: 'w-1' })
    await addBudget(bed.kube.api, 'held', 1)
    const [pod] = await podsOf(bed.kube.api, 'held')
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const limits = { drainOlderThan: '1s', lastForcedOlderThan: '1s', podOlderThan: '1s' }
    const end = await bed.roll({ ...TO_LARGE, drain: { timeout: '20s', onBlocked: 'force', force: limits } })

    const warning = expect.stringMatching(
      `^pod default/${pod?.metadata.name} on w-1 was deleted although budget default/held needs 1 healthy, has 1: `,
    )
    expect(end).toMatchObject({
      kind: 'completed',
      // The plan had said so before.
      result: {
        done: { names: ['w-1'] },
        warnings: [expect.stringContaining('can never allow an eviction'), warning],
      },
    })
    expect(await warningsOn('w-1')).toEqual([['DeletedPastBudget', warning]])
    await bed.kube.audit.settled()
    const deletions = await bed.kube.audit.since(position, { user: 'noderoll', verb: 'delete' })
    const inEarnest = deletions.filter(({ requestBody }) => requestBody?.dryRun === undefined)
    expect(inEarnest.map(({ name, requestBody }) => [name, requestBody?.preconditions?.uid])).toEqual([
      [pod?.metadata.name, pod?.metadata.uid],
    ])
  })

  it('B02 a pod that is no longer waited for is in the result and an event on the node', async () => {
    await bed.startCluster({ workers: 2 })
    onlyW1OutOfDate()
    await runWorkload(bed.kube.api, 'Deployment', 'sticky', { on: 'w-1', finalizers: ['example.com/hold'] })
    const [pod] = await podsOf(bed.kube.api, 'sticky')
    await bed.startWorker()

    const end = await bed.roll({ ...TO_LARGE, drain: { timeout: '20s', skipWaitForDelete: '1s' } })

    const warning = `pod default/${pod?.metadata.name} on w-1 was not waited for: terminating for longer than drain.skipWaitForDelete`
    expect(end).toMatchObject({
      kind: 'completed',
      result: { done: { names: ['w-1'] }, warnings: [warning] },
    })
    expect(await warningsOn('w-1')).toEqual([['NotWaitedFor', warning]])
    expect(await bed.kube.api.ok('GET', `${PODS}/${pod?.metadata.name}`)).toMatchObject({
      metadata: { uid: pod?.metadata.uid, finalizers: ['example.com/hold'] },
    })
  })

  /** What an operator does who wants drains to be forced. */
  async function allowForce(): Promise<void> {
    const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'
    const name = 'noderoll-force'
    await bed.kube.api.ok('POST', bindings, {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'noderoll' }],
    })
    onTestFinished(async () => {
      await bed.kube.api.ok('DELETE', `${bindings}/${name}`)
    })
    const noderoll = bed.kube.apiOf('noderoll')
    const tried = () => noderoll.call('DELETE', `${PODS}/no-such-pod?dryRun=All`)
    await waitUntil(async () => (await tried()).status === 404, { for: 'the rule to be known' })
    noderoll.close()
  }

  async function warningsOn(node: string): Promise<[string, string][]> {
    const warnings = (await nodeEvents(bed, node)).filter(({ type }) => type === 'Warning')
    return warnings.map(({ reason, message }) => [reason, message])
  }
})
