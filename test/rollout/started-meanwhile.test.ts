import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Progress } from '../../src/core/progress.js'
import { batchesOf } from '../support/batch-history.js'
import { expectAsFound, found, isCordoned, stopMachine, untilReadiness } from '../support/batch-nodes.js'
import { evictions, podsOf, runWorkload } from '../support/batch-pods.js'
import { atLookOfAct } from '../support/drain-story.js'
import { marksOf, RolloutBed } from '../support/rollout-bed.js'
import { waitUntil } from '../support/wait.js'

describe('a machine that was off when its batch was chosen, and that somebody starts', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  const TO_LARGE = { pools: { worker: { offering: 'large' } } }

  async function startedBySomebody(name: string): Promise<void> {
    const { cloud } = bed.cluster
    cloud.act(name, { kind: 'start' })
    await cloud.untilMachine(name, 'runs', ({ power }) => power === 'running')
  }

  /** Starts the machine of w-1 when the step that would stop it looks at it: its node has been cordoned by then. */
  function startAtLook(): void {
    atLookOfAct(bed, 'w-1', () => startedBySomebody('w-1'), 'arrival')
  }

  it('CKS-13, CKS-16 is not stopped undrained when that was while preflight waited: it is rolled like any node that runs', async () => {
    await bed.startCluster({ workers: 2 })
    await stopMachine(bed, 'w-1')
    bed.cluster.kubelets.script('w-2', { neverReady: true })
    await untilReadiness(bed, 'w-2', false)
    const position = await bed.kube.audit.mark()
    await bed.startWorker()
    const handle = await bed.start(
      bed.spec({ ...TO_LARGE, preflight: { timeout: '60s' }, batchTimeout: '120s' }),
    )
    await waitUntil(async () => (await handle.query<Progress>('progress')).batch?.recovery, {
      for: 'the recovery batch',
    })

    await startedBySomebody('w-1')
    await untilReadiness(bed, 'w-1', true)
    await runWorkload(bed.kube.api, 'Deployment', 'web', { on: 'w-1' })
    const [pod] = await podsOf(bed.kube.api, 'web')
    bed.cluster.kubelets.script('w-2', { neverReady: false })
    const end = await bed.endOf(handle)

    expect(end).toMatchObject({
      kind: 'completed',
      result: { outcome: 'done', state: 'Running', done: { names: ['w-1', 'w-2'] } },
    })
    expect(bed.acts(false)).toEqual(
      ['w-1', 'w-2'].flatMap((name) => [`stop ${name}`, `setOffering ${name}`, `start ${name}`]),
    )
    const [first, ...others] = (await evictions(bed.kube, position)).filter(({ code }) => code === 201)
    expect([first?.name, others]).toEqual([pod?.metadata.name, []])
    const stop = bed.cluster.cloud.log.acts().find(({ call }) => call === 'stop')
    expect(stop?.at).toBeGreaterThanOrEqual(first?.time ?? Number.POSITIVE_INFINITY)
    expect((await batchesOf(handle)).map(({ nodes, recovery }) => [...nodes, recovery])).toEqual([
      ['w-1', true],
      ['w-1', false],
      ['w-2', false],
    ])
    for (const node of await bed.nodes()) expect([marksOf(node), isCordoned(node)]).toEqual([[], false])
  })

  it('CKS-13, K1 is not stopped when that was between its cordon and the look before the stop', async () => {
    await bed.startCluster({ workers: 2 })
    const before = await found(bed)
    await stopMachine(bed, 'w-1')
    startAtLook()
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end).toMatchObject({
      kind: 'failed',
      type: 'NodeChanged',
      message: expect.stringMatching(
        /the machine of w-1 was off and somebody has started it meanwhile; it was not stopped, ask again; its nodes were put back as found/,
      ),
      result: { failed: [{ node: 'w-1', step: 'stop' }], leftCordoned: [] },
    })
    expect(bed.acts(false)).toEqual([])
    await untilReadiness(bed, 'w-1', true)
    await expectAsFound(bed, before)
  })

  it('CKS-11, K3 is given back without an act when there is nothing to change on it', async () => {
    await bed.startCluster({ workers: 2 })
    const before = await found(bed)
    await stopMachine(bed, 'w-1')
    startAtLook()
    await bed.startWorker()

    const end = await bed.roll({ pools: { worker: {} } })

    expect(end).toMatchObject({
      kind: 'completed',
      result: { outcome: 'done', state: 'Running', done: { names: ['w-1'] } },
    })
    expect(bed.acts(false)).toEqual([])
    await expectAsFound(bed, before)
  })
})
