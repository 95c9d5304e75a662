import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  cordon,
  eventsOn,
  isCordoned,
  NodeWatch,
  nodeWrites,
  openTooEarly,
  patchNode,
} from '../support/batch-nodes.js'
import { addBudget, evictions, runWorkload } from '../support/batch-pods.js'
import { marksOf, type Node, RolloutBed } from '../support/rollout-bed.js'
import { waitUntil } from '../support/wait.js'

describe('a Node that is replaced or changed while it is rolled', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
    bed.keepsWorker = true
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  const TO_LARGE = { pools: { worker: { offering: 'large' } } }

  async function bootIdOf(name: string): Promise<string> {
    return (await bed.node(name)).status.nodeInfo.bootID
  }

  it('B11 cordons a Node object that was replaced while its machine was off, verifies it and says so', async () => {
    await bed.startCluster({ workers: 2 })
    bed.cluster.cloud.machine('w-2').offering = 'large'
    bed.cluster.kubelets.script('w-1', { notReadyMs: 2_000 })
    const { metadata } = await bed.node('w-1')
    const bootBefore = await bootIdOf('w-1')
    bed.cluster.cloud.onRequest({ call: 'setOffering', machine: 'w-1' }, async () => {
      await bed.kube.api.ok('DELETE', '/api/v1/nodes/w-1')
    })
    const early: Node[] = []
    let cordonedAgain = false
    const watch = await NodeWatch.start(bed, (node) => {
      if (node.metadata.name !== 'w-1' || node.metadata.uid === metadata.uid) return
      cordonedAgain ||= isCordoned(node)
      if (cordonedAgain && openTooEarly(node, bootBefore)) early.push(node)
    })
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)
    await watch.stop()

    expect(end).toMatchObject({
      kind: 'completed',
      result: {
        done: { names: ['w-1'] },
        warnings: ['node w-1 was replaced by a new object while its machine was off'],
        state: 'Running',
      },
    })
    expect(cordonedAgain).toBe(true)
    expect(early).toEqual([])
    const node = await bed.node('w-1')
    expect(node.metadata.uid).not.toBe(metadata.uid)
    expect(marksOf(node)).toEqual([])
    expect(isCordoned(node)).toBe(false)
  })

  it('B11, B14 keeps a replaced Node cordoned in the end when somebody else had cordoned the old one', async () => {
    await bed.startCluster({ workers: 1 })
    await cordon(bed, 'w-1')
    bed.cluster.cloud.onRequest({ call: 'setOffering', machine: 'w-1' }, async () => {
      await bed.kube.api.ok('DELETE', '/api/v1/nodes/w-1')
    })
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end.kind).toBe('completed')
    expect(isCordoned(await bed.node('w-1'))).toBe(true)
    expect(marksOf(await bed.node('w-1'))).toEqual([])
  })

  it('B11 stops when another machine has come under the name, and writes nothing to its Node', async () => {
    await bed.startCluster({ workers: 2 })
    bed.cluster.kubelets.script('w-1', { doesNotRegister: true })
    let position = Number.NaN
    bed.cluster.cloud.onRequest({ call: 'setOffering', machine: 'w-1' }, async () => {
      await bed.kube.api.ok('DELETE', '/api/v1/nodes/w-1')
      position = await bed.kube.audit.mark()
      await bed.kube.api.ok('POST', '/api/v1/nodes', {
        metadata: { name: 'w-1' },
        spec: { providerID: 'simulated://prod/somebody-else' },
      })
    })
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'VerifyFailed',
      message: expect.stringContaining('w-1 is a different machine now (simulated://prod/somebody-else)'),
      result: { state: 'Alert' },
    })
    expect(await nodeWrites(bed, position)).toEqual([])
    expect(await eventsOn(bed, 'w-1', (await bed.node('w-1')).metadata.uid)).toEqual([])
    expect(bed.acts()).toEqual(['stop w-1', 'setOffering w-1', 'start w-1'])
  })

  it('B11 does not touch the machine of a Node that vanishes during its drain', async () => {
    await bed.startCluster({ workers: 2 })
    await runWorkload(bed.kube.api, 'Deployment', 'held', { on: 'w-1' })
    await addBudget(bed.kube.api, 'held', 1)
    bed.cluster.kubelets.script('w-1', { doesNotRegister: true })
    const position = await bed.kube.audit.mark()
    await bed.startWorker()
    const handle = await bed.start(bed.spec(TO_LARGE))
    await waitUntil(async () => (await evictions(bed.kube, position)).length > 0, { for: 'an eviction' })

    await bed.kube.api.ok('DELETE', '/api/v1/nodes/w-1')
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'NodeChanged',
      message: expect.stringContaining('node w-1 vanished from the cluster; its machine was not touched'),
      result: { state: 'Alert' },
    })
    expect(bed.acts(false)).toEqual([])
    expect(await nodeWrites(bed, position, 'w-2')).toEqual([])
  })

  it('B11 cordons again when somebody uncordons the node while its machine is off', async () => {
    await bed.startCluster({ workers: 1 })
    bed.cluster.kubelets.script('w-1', { notReadyMs: 1_500 })
    bed.cluster.cloud.onRequest({ call: 'setOffering', machine: 'w-1' }, () =>
      patchNode(bed, 'w-1', { spec: { unschedulable: false } }),
    )
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end).toMatchObject({ kind: 'completed', result: { state: 'Running' } })
    const flags = (await nodeWrites(bed, position, 'w-1'))
      .filter(({ code, requestBody }) => code === 200 && requestBody.spec !== undefined)
      .map(({ requestBody }) => requestBody.spec.unschedulable)
    expect(flags).toEqual([true, true, false])
  })
})
