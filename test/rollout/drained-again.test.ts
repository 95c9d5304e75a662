import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  expectAsFound,
  type Found,
  found,
  isCordoned,
  nodeWrites,
  patchNode,
} from '../support/batch-nodes.js'
import { addBudget, BUDGETS, bindTo, evictions, podsOf, runWorkload } from '../support/batch-pods.js'
import { atLookOfAct } from '../support/drain-story.js'
import { CLUSTER, marksOf, RolloutBed } from '../support/rollout-bed.js'
import { waitUntil } from '../support/wait.js'

describe('a node that is drained again, after the barrier', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  const WORKFLOW_ID = `cluster-rollout/${CLUSTER}`

  /**
   * A pod that its budget never lets go lands on the node when the step that would stop it looks at its machine: the node
   * was drained by then, and has lost its cordon for a moment.
   */
  async function holdBack(name: string): Promise<void> {
    const { api } = bed.kube
    await runWorkload(api, 'Deployment', 'newcomer', { on: { stage: 'nowhere' }, untilReady: false })
    await addBudget(api, 'newcomer', 1, 0)
    const [newcomer] = await podsOf(api, 'newcomer')
    atLookOfAct(bed, name, async () => {
      await patchNode(bed, name, { spec: { unschedulable: false } })
      await bindTo(api, newcomer, name)
      await waitUntil(async () => (await api.ok('GET', `${BUDGETS}/newcomer`)).status?.currentHealthy === 1, {
        for: 'the newcomer to count',
      })
    })
  }

  /** An eviction of the newcomer was refused: its node is being drained again. */
  async function untilHeldBack(since: number): Promise<void> {
    await waitUntil(async () => (await evictions(bed.kube, since)).some(({ code }) => code === 429), {
      for: 'a refused eviction',
    })
  }

  async function isBack(name: string): Promise<boolean> {
    const node = await bed.node(name)
    return marksOf(node).length === 0 && !isCordoned(node)
  }

  it('CKS-19, K1 is put back the moment a sibling fails, and not stopped though its drain could end before that one is settled', async () => {
    await bed.startCluster({ workers: 3 })
    const { cloud } = bed.cluster
    await holdBack('w-2')
    const bootId = (await bed.node('w-2')).status.nodeInfo.bootID
    const refusal = { kind: 'status', status: 403, code: 'Forbidden', message: 'missing permission' } as const
    cloud.faults.add({ call: 'setOffering', machine: 'w-1', effect: refusal, count: null })
    cloud.faults.add({ call: 'start', machine: 'w-1', effect: { kind: 'operationNeverEnds' }, count: 1 })
    const position = await bed.kube.audit.mark()
    cloud.onRequest({ call: 'setOffering', machine: 'w-1' }, () => untilHeldBack(position), 'arrival')
    // On its way back to what it had, w-1 takes its time; nothing holds w-2's pod any more.
    let isStarting = false
    cloud.onRequest({ call: 'start', machine: 'w-1' }, async () => {
      await bed.kube.api.call('DELETE', `${BUDGETS}/newcomer`)
      isStarting = true
    })
    await bed.startWorker()

    const handle = await bed.start(bed.spec({ pools: { worker: { offering: 'large', maxUnavailable: 2 } } }))
    await waitUntil(async () => isStarting && (await isBack('w-2')), { for: 'w-2 to be back' })
    const settledBefore = cloud.machine('w-1').power
    cloud.finishOperation(cloud.machine('w-1').operation ?? 'none')
    const end = await bed.endOf(handle)

    expect(settledBefore).toBe('starting')
    expect(end).toMatchObject({
      kind: 'failed',
      type: 'MachineFailed',
      result: {
        done: { count: 0 },
        failed: [{ node: 'w-1', step: 'resize', reason: expect.stringContaining('missing permission') }],
        leftCordoned: [],
        state: 'Running',
      },
    })
    expect(new Set(bed.acts(false))).toEqual(new Set(['stop w-1', 'setOffering w-1', 'start w-1']))
    expect((await bed.node('w-2')).status.nodeInfo.bootID).toBe(bootId)
    for (const name of ['w-1', 'w-2']) expect(await isBack(name)).toBe(true)
    expect(await nodeWrites(bed, position, 'w-3')).toEqual([])
  })

  it.each<[string, () => Promise<unknown>, object]>([
    [
      'by the signal, now',
      () => bed.client.workflow.getHandle(WORKFLOW_ID).signal('cancel', { now: true, by: 'olga' }),
      {
        kind: 'completed',
        result: { outcome: 'cancelled', done: { count: 0 }, failed: [], leftCordoned: [], state: 'Running' },
      },
    ],
    ['natively', () => bed.client.workflow.getHandle(WORKFLOW_ID).cancel(), { kind: 'canceled' }],
  ])(
    'CKS-20, K1 is put back when the rollout is cancelled %s: no act was begun',
    async (_how, cancel, ended) => {
      await bed.startCluster({ workers: 2 })
      await holdBack('w-1')
      const before: Found = await found(bed)
      const position = await bed.kube.audit.mark()
      await bed.startWorker()
      const handle = await bed.start(bed.spec({ pools: { worker: { offering: 'large' } } }))
      await untilHeldBack(position)

      await cancel()
      const end = await bed.endOf(handle)

      expect(end).toMatchObject(ended)
      expect(bed.acts(false)).toEqual([])
      expect(await nodeWrites(bed, position, 'w-2')).toEqual([])
      await expectAsFound(bed, before)
      expect(await bed.record()).toMatchObject({
        state: 'Running',
        lastError: expect.stringMatching(/^cancelled by (olga|Temporal's cancel) at /),
      })
      expect(await bed.leaseHolder()).toBeNull()
    },
  )
})
