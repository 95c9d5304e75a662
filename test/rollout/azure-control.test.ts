import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { AzureBed, D4 } from '../providers/azure-vm/azure-bed.js'
import { expectAsFound, found, isCordoned, nodeWrites } from '../support/batch-nodes.js'
import { addBudget, evictions, podsOf, runWorkload } from '../support/batch-pods.js'
import { FaultProxy } from '../support/proxy.js'
import { marksOf } from '../support/rollout-bed.js'

const SLOW = { deallocateMs: 150, startMs: 150, updateMs: 100, bootMs: 200 }
/** In the order in which they go: c-1 leads etcd at first. */
const CONTROL = ['c-2', 'c-3', 'c-1']

describe('what a rollout of Azure VMs looks at besides the VMs', () => {
  let azure: AzureBed

  beforeAll(async () => {
    azure = await AzureBed.open()
  })
  afterEach(() => azure.bed.clean())
  afterAll(() => azure.bed.close())

  it('CKS-26, CKS-08 rolls three stacked control VMs through another API endpoint while the first one is gone with its VM', async () => {
    const { bed } = azure
    await azure.startCluster({ control: 3, workers: 1, delays: SLOW })
    const proxy = await FaultProxy.start({ url: bed.kube.url, ca: bed.kube.access.ca })
    const ca = bed.kube.access.ca + proxy.ca
    const kubeconfig = await bed.kube.kubeconfigFile('noderoll', proxy.url, { ca })
    // The proxy is the API server on c-2: gone from the deallocation on, and not back before the rollout has ended.
    let askedBefore = 0
    azure.arm.onRequest({ call: 'deallocate', vm: 'c-2' }, async () => {
      await proxy.down()
      askedBefore = proxy.requests.length
    })
    await bed.startWorker()

    const end = await azure.roll({
      kubernetes: { kubeconfig, endpoints: [bed.kube.url] },
      pools: { control: { offering: D4 } },
      batchTimeout: '120s',
    })
    await proxy.stop()

    expect(end).toMatchObject({
      kind: 'completed',
      result: { outcome: 'done', state: 'Running', done: { names: CONTROL } },
    })
    expect(askedBefore).toBeGreaterThan(0)
    expect(proxy.requests).toHaveLength(askedBefore)
    expect(azure.acts(false)).toEqual(
      CONTROL.flatMap((name) => [`deallocate ${name}`, `updateVm ${name}`, `start ${name}`]),
    )
    for (const name of CONTROL) {
      const node = await bed.node(name)
      expect([marksOf(node), isCordoned(node)]).toEqual([[], false])
    }
  })

  it('CKS-26, CKS-18 touches no other control VM while the etcd member of the first is unhealthy', async () => {
    await azure.startCluster({ control: 3, workers: 0 })
    azure.arm.onRequest({ call: 'start', vm: 'c-2' }, () =>
      azure.arm.nodes.scriptEtcd('c-2', { healthy: false }),
    )
    await azure.bed.startWorker()

    const end = await azure.roll({
      pools: { control: { offering: D4 } },
      verify: { timeout: '2s', settle: 0 },
    })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'VerifyFailed',
      message: expect.stringContaining('its etcd member is unhealthy'),
      result: { failed: [{ node: 'c-2', step: 'verify' }], leftCordoned: [{ name: 'c-2' }], state: 'Alert' },
    })
    expect(azure.acts(false)).toEqual(['deallocate c-2', 'updateVm c-2', 'start c-2'])
    expect(isCordoned(await azure.bed.node('c-2'))).toBe(true)
    expect(isCordoned(await azure.bed.node('c-3'))).toBe(false)
  })

  it('CKS-26, CKS-16, K1 a budget that never allows an eviction: no VM is touched and the node is as found', async () => {
    const { bed } = azure
    await azure.startCluster()
    await runWorkload(bed.kube.api, 'Deployment', 'held', { on: 'w-1' })
    await addBudget(bed.kube.api, 'held', 1)
    const pods = async () => (await podsOf(bed.kube.api, 'held')).map(({ metadata }) => metadata.uid)
    const [before, running] = [await found(bed), await pods()]
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await azure.roll({ pools: { worker: { offering: D4 } }, drain: { timeout: '5s' } })

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'DrainBlocked',
      message: expect.stringContaining('budget default/held needs 1 healthy, has 1; holds 1 pod'),
      result: { done: { count: 0 }, failed: [{ node: 'w-1', step: 'drain' }], state: 'Running' },
    })
    expect(azure.acts(false)).toEqual([])
    const asked = (await evictions(bed.kube, position)).map(({ code }) => code)
    expect(asked.length).toBeGreaterThan(0)
    expect(asked).not.toContain(201)
    expect(await pods()).toEqual(running)
    expect(await nodeWrites(bed, position, 'w-2')).toEqual([])
    await expectAsFound(bed, before)
  })
})
