import type { Client, WorkflowHandle } from '@temporalio/client'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { answer, FaultProxy, type ProxiedRequest } from '../support/proxy.js'
import { marksOf, RolloutBed } from '../support/rollout-bed.js'
import { pausedRollout, skippingClient } from '../support/story-world.js'

const CONFIG_MAP = '/api/v1/namespaces/kube-system/configmaps/noderoll'
const LARGE = { worker: { offering: 'large' } } as const

/** The write of a record that is no longer `Updating`: what begins a rollout never is one, its release always. */
function endsRollout({ method, path, body }: ProxiedRequest): boolean {
  return method === 'PUT' && path.startsWith(CONFIG_MAP) && JSON.parse(body).data.state !== 'Updating'
}

describe('a rollout whose end cannot be written', () => {
  let bed: RolloutBed
  let proxy: FaultProxy
  /** Starts workflows for which the wait after a takeover costs nothing. */
  let skipping: Client

  beforeAll(async () => {
    bed = await RolloutBed.open()
    proxy = await FaultProxy.start(bed.kube.access)
    skipping = await skippingClient(bed)
    await bed.reachThrough(proxy)
  })
  afterEach(async () => {
    await bed.clean()
    await proxy.reset()
  })
  afterAll(async () => {
    await skipping.connection.close()
    await proxy.stop()
    await bed.close()
  })

  it.each<[string, (handle: WorkflowHandle) => Promise<unknown>, RegExp, string, number]>([
    [
      'done',
      (handle) => handle.signal('resume'),
      /^Rollout of prod is done after 1 nodes, and its release did not end: /,
      'done',
      1,
    ],
    [
      'cancelled by signal',
      (handle) => handle.signal('cancel', { by: 'olga' }),
      /^Rollout of prod was cancelled after 0 nodes, and its release did not end: /,
      'cancelled',
      0,
    ],
    [
      'cancelled natively',
      (handle) => handle.cancel(),
      /^Rollout of prod was cancelled after 0 nodes, and its release did not end: /,
      'cancelled',
      0,
    ],
  ])(
    'CKS-21 and that is %s has failed, with what to do; releaseCluster puts it right then',
    async (_how, goOn, says, outcome, done) => {
      await bed.startCluster({ workers: 1 })
      await bed.startWorker()
      const handle = await pausedRollout(bed, { pools: LARGE })
      const holder = await bed.leaseHolder()
      const webhook = proxy.on(
        endsRollout,
        answer(403, { kind: 'Status', status: 'Failure', reason: 'Forbidden', message: 'a webhook said no' }),
      )

      await goOn(handle)
      const end = await bed.endOf(handle)

      expect(end).toMatchObject({
        kind: 'failed',
        type: 'ReleaseIncomplete',
        message: expect.stringMatching(says),
        result: { outcome, state: null, done: { count: done } },
      })
      expect(end).toHaveProperty(
        'message',
        expect.stringMatching(/a webhook said no.*\. Mend the cause, then run releaseCluster$/),
      )
      expect((await handle.describe()).status.name).toBe('FAILED')
      expect(await bed.record()).toMatchObject({ state: 'Updating' })
      expect(await bed.leaseHolder()).toBe(holder)

      webhook.remove()
      const released = await bed.endOf(
        await bed.startType('releaseCluster', bed.target(), undefined, skipping),
      )

      expect(released).toMatchObject({ kind: 'completed', result: { state: 'Running', leftCordoned: [] } })
      expect(await bed.record()).toMatchObject({ state: 'Running' })
      expect(await bed.leaseHolder()).toBeNull()
      expect((await bed.nodes()).flatMap(marksOf)).toEqual([])
      expect(bed.acts().filter((act) => act.startsWith('stop'))).toHaveLength(done)
    },
  )
})
