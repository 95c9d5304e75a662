import type { WorkflowHandle } from '@temporalio/client'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Progress } from '../../src/core/progress.js'
import { behindProxy, isCordoned } from '../support/batch-nodes.js'
import { marksOf, RolloutBed } from '../support/rollout-bed.js'
import { waitUntil } from '../support/wait.js'

describe('a rollout whose API server is away', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  /** The attempt of a step that is under way or due; 0 when another step is. */
  async function attemptOf(handle: WorkflowHandle, step: string): Promise<number> {
    const { raw } = await handle.describe()
    const pending = raw.pendingActivities?.find(({ activityType }) => activityType?.name === step)
    return pending?.attempt ?? 0
  }

  it('B35, CKS-21 for longer than a verify may take fails there, and its release stays pending until it is acknowledged', async () => {
    await bed.startCluster({ workers: 2 })
    const { proxy, kubernetes } = await behindProxy(bed)
    bed.cluster.cloud.onRequest({ call: 'start', machine: 'w-1' }, () => proxy.down(), 'answer')
    await bed.startWorker()

    const handle = await bed.start(
      bed.spec({
        pools: { worker: { offering: 'large' } },
        kubernetes,
        verify: { timeout: '2s', settle: 0 },
        releaseTimeout: '24s',
      }),
    )
    await waitUntil(async () => (await attemptOf(handle, 'release')) > 1, {
      for: 'the release to be tried again',
      timeoutMs: 60_000,
    })
    const pending = {
      phase: (await handle.query<Progress>('progress')).phase,
      cordoned: isCordoned(await bed.node('w-1')),
      state: (await bed.record())?.state,
    }
    const holder = await bed.leaseHolder()
    await proxy.up()
    const end = await bed.endOf(handle)

    expect(pending).toEqual({ phase: 'releasing', cordoned: true, state: 'Updating' })
    expect(holder).toContain(handle.workflowId)
    expect(end).toMatchObject({
      kind: 'failed',
      type: 'VerifyFailed',
      message: expect.stringMatching(
        /w-1 is not back after 2 s: .*connection refused.*the node could not be marked as failed/,
      ),
      result: { failed: [{ node: 'w-1', step: 'verify' }], state: 'Running' },
    })
    expect(bed.acts(false)).toEqual(['stop w-1', 'setOffering w-1', 'start w-1'])
    // It had booted anew all the same, which the release could see.
    for (const node of await bed.nodes()) expect([marksOf(node), isCordoned(node)]).toEqual([[], false])
    expect(await bed.record()).toMatchObject({
      state: 'Running',
      lastError: expect.stringContaining('verify failed'),
    })
    expect(await bed.leaseHolder()).toBeNull()
  })
})
