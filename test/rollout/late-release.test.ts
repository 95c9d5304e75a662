import type { Client } from '@temporalio/client'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { FaultProxy, loseAnswer, type ProxiedRequest, pass } from '../support/proxy.js'
import { CLUSTER, RolloutBed } from '../support/rollout-bed.js'
import { skippingClient, writesSince } from '../support/story-world.js'
import { waitUntil } from '../support/wait.js'

const CONFIG_MAP = '/api/v1/namespaces/kube-system/configmaps/noderoll'
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/noderoll'

/** The write of a record that is no longer `Updating`. */
function endsRollout({ method, path, body }: ProxiedRequest): boolean {
  return method === 'PUT' && path.startsWith(CONFIG_MAP) && JSON.parse(body).data.state !== 'Updating'
}

describe('an end that comes late, or not at all', () => {
  let bed: RolloutBed
  let proxy: FaultProxy
  /** Starts workflows for which the wait after a takeover costs nothing. */
  let skipping: Client

  beforeAll(async () => {
    bed = await RolloutBed.open()
    proxy = await FaultProxy.start(bed.kube.access)
    skipping = await skippingClient(bed)
  })
  afterEach(async () => {
    await bed.clean()
    await proxy.reset()
    await bed.reachThrough(null)
  })
  afterAll(async () => {
    await skipping.connection.close()
    await proxy.stop()
    await bed.close()
  })

  it('CKS-07, CKS-24 the release of a terminated rollout, held up until the next one has begun, does not write over its record', async () => {
    await bed.startCluster({ workers: 1 })
    await bed.startWorker()
    await bed.reachThrough(proxy)
    let letGo: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    let isHeld = false
    const late = proxy.on(
      endsRollout,
      async () => {
        isHeld = true
        await held
        return pass()
      },
      { times: 1 },
    )
    const first = await bed.start(bed.spec({ pools: { worker: {} } }))
    await waitUntil(() => isHeld, { for: 'the write of the release' })
    await first.terminate('somebody was in a hurry')
    await bed.reachThrough(null)

    const second = await skipping.workflow.signalWithStart('clusterRollout', {
      taskQueue: bed.taskQueue,
      workflowId: 'the-next',
      args: [bed.spec({ pools: { worker: {} } })],
      signal: 'pause',
      signalArgs: [],
    })
    await waitUntil(async () => (await bed.record())?.rollout?.includes('/the-next/'), {
      for: 'the next rollout to begin',
    })
    const position = await bed.kube.audit.mark()
    letGo()
    await late.hit
    // The log has it, whether or not the attempt that sent it still waits for the answer.
    const lateWrites = async () =>
      (await bed.kube.audit.writes(position, 'noderoll')).filter(
        ({ verb, resource, requestBody }) =>
          verb === 'update' && resource === 'configmaps' && requestBody.data.state !== 'Updating',
      )
    await waitUntil(async () => (await lateWrites()).length > 0, { for: 'the late write' })
    // Ends when every attempt has.
    await bed.stopWorker()
    await bed.kube.audit.settled()
    const record = await bed.record()

    expect((await lateWrites()).map(({ code }) => code)).toEqual([409])
    expect(record).toMatchObject({ state: 'Updating', rollout: expect.stringContaining('/the-next/') })
    expect(await bed.leaseHolder()).toBe(record?.rollout)

    await bed.startWorker()
    await second.signal('resume')
    expect(await bed.endOf(second)).toMatchObject({
      kind: 'completed',
      result: { outcome: 'done', state: 'Running' },
    })
    expect(await bed.leaseHolder()).toBeNull()
  })

  it('CKS-21, CKS-24 a releaseCluster that is cancelled while it takes the Lease does not leave it held', async () => {
    await bed.startCluster({ workers: 1 })
    await bed.startWorker()
    await bed.roll({ rollout: false, pools: { worker: {} } })
    const gone = `another-server/prod/cluster-rollout/${CLUSTER}/of-long-ago`
    await bed.kube.api.ok('PATCH', CONFIG_MAP, { data: { state: 'Updating', rollout: gone } })
    await bed.reachThrough(proxy)
    const before = await bed.record()
    const position = await bed.kube.audit.mark()
    const taken = proxy.on(
      { method: 'PUT', path: LEASE },
      async () => {
        await bed.client.workflow.getHandle('the-release').cancel()
        // It is written, and whoever wrote it hears of the cancel before the answer.
        return loseAnswer({ hang: true })
      },
      { times: 1 },
    )

    const handle = await bed.startType('releaseCluster', bed.target(), 'the-release')
    await taken.hit
    const end = await bed.endOf(handle)

    expect(end.kind).toBe('canceled')
    expect(await bed.leaseHolder()).toBeNull()
    expect(await writesSince(bed, position)).toEqual(['update leases noderoll', 'update leases noderoll'])
    expect(await bed.record()).toEqual(before)
  })
})
