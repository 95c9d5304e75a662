import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { EXCLUDE_FROM_LOAD_BALANCERS as EXCLUDE } from '../../src/core/additions.js'
import { MARK_KEYS } from '../../src/core/marks.js'
import {
  eventsOn,
  expectAsFound,
  found,
  isCordoned,
  markAsLeft,
  nodeEvents,
  nodeWrites,
  patchNode,
  untilEvent,
} from '../support/batch-nodes.js'
import { addBarePod, runWorkload } from '../support/batch-pods.js'
import { marksOf, type Node, RolloutBed } from '../support/rollout-bed.js'

const SCALE_DOWN = 'cluster-autoscaler.kubernetes.io/scale-down-disabled'
const DISRUPT = 'karpenter.sh/do-not-disrupt'
const TO_LARGE = { pools: { worker: { offering: 'large' } } }

describe('what noderoll adds to a node while it works on it', () => {
  let bed: RolloutBed

  beforeAll(async () => {
    bed = await RolloutBed.open()
    bed.keepsWorker = true
  })
  afterEach(() => bed.clean())
  afterAll(() => bed.close())

  /** What the node carried of it when its machine was stopped. */
  function addedAtStop(name: string): { node: Node | null } {
    const seen: { node: Node | null } = { node: null }
    bed.cluster.cloud.onRequest(
      { call: 'stop', machine: name },
      async () => {
        seen.node = await bed.node(name)
      },
      'arrival',
    )
    return seen
  }

  function carried({ metadata }: Node): Record<string, string | undefined> {
    const { labels = {}, annotations = {} } = metadata
    return {
      [EXCLUDE]: labels[EXCLUDE],
      [SCALE_DOWN]: annotations[SCALE_DOWN],
      [DISRUPT]: annotations[DISRUPT],
    }
  }

  it('CKS-15, K3 in the one patch with mark and cordon, on control nodes too; gone at the end, prior values back', async () => {
    await bed.startCluster({ control: 3, workers: 2 })
    await patchNode(bed, 'w-1', { metadata: { annotations: { [DISRUPT]: 'false', [SCALE_DOWN]: 'true' } } })
    await patchNode(bed, 'w-2', { metadata: { labels: { [EXCLUDE]: 'for-ever' } } })
    const before = await found(bed)
    const control = addedAtStop('c-1')
    const [first, second] = [addedAtStop('w-1'), addedAtStop('w-2')]
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll({ pools: { control: { rootDiskGiB: 80 }, worker: { rootDiskGiB: 80 } } })

    expect(end).toMatchObject({ kind: 'completed', result: { done: { count: 5 } } })
    const both = { [SCALE_DOWN]: 'true', [DISRUPT]: 'true' }
    expect(carried(control.node as Node)).toEqual({ [EXCLUDE]: '', ...both })
    expect(carried(first.node as Node)).toEqual({ [EXCLUDE]: '', ...both })
    expect(carried(second.node as Node)).toEqual({ [EXCLUDE]: 'for-ever', ...both })
    // What somebody else changed in between is refused, and sent again.
    const [mark, ...later] = (await nodeWrites(bed, position, 'w-1')).filter(({ code }) => code === 200)
    expect(mark?.requestBody).toMatchObject({
      metadata: { labels: { [EXCLUDE]: '' }, annotations: { [DISRUPT]: 'true' } },
      spec: { unschedulable: true },
    })
    expect(JSON.parse(mark?.requestBody.metadata.annotations[MARK_KEYS.attempt]).added).toEqual({
      labels: { [EXCLUDE]: null },
      annotations: { [DISRUPT]: 'false' },
    })
    expect(later).toHaveLength(2)
    await expectAsFound(bed, before)
  })

  it('K1 goes with the marks when a drain is refused, prior values back', async () => {
    await bed.startCluster({ workers: 2 })
    await patchNode(bed, 'w-1', { metadata: { annotations: { [DISRUPT]: 'false' } } })
    await addBarePod(bed.kube.api, 'debug', 'w-1')
    const before = await found(bed)
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end).toMatchObject({ kind: 'failed', type: 'DrainRefused' })
    await expectAsFound(bed, before)
    await untilEvent(bed, 'w-1', 'NoderollPutBack')
    expect(await eventsOn(bed, 'w-1')).toEqual(
      expect.arrayContaining([
        'NoderollMarked',
        'NoderollDraining',
        'NoderollDrainFailed',
        'NoderollPutBack',
      ]),
    )
  })

  it('K3 leaves a value that somebody else changed meanwhile: it is theirs', async () => {
    await bed.startCluster({ workers: 1 })
    bed.cluster.cloud.onRequest({ call: 'setOffering', machine: 'w-1' }, () =>
      patchNode(bed, 'w-1', {
        metadata: {
          labels: { [EXCLUDE]: 'by-hand' },
          annotations: { [DISRUPT]: null, [SCALE_DOWN]: 'false' },
        },
      }),
    )
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end.kind).toBe('completed')
    expect(carried(await bed.node('w-1'))).toEqual({ [EXCLUDE]: 'by-hand', [SCALE_DOWN]: 'false' })
    expect(marksOf(await bed.node('w-1'))).toEqual([])
  })

  it('B11, K3 is on a Node that was replaced while its machine was off until that is verified, and gone then', async () => {
    await bed.startCluster({ workers: 1 })
    bed.cluster.kubelets.script('w-1', { notReadyMs: 1_000 })
    const { metadata } = await bed.node('w-1')
    bed.cluster.cloud.onRequest({ call: 'setOffering', machine: 'w-1' }, async () => {
      await bed.kube.api.ok('DELETE', '/api/v1/nodes/w-1')
    })
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const end = await bed.roll(TO_LARGE)

    expect(end).toMatchObject({ kind: 'completed', result: { done: { names: ['w-1'] } } })
    const writes = await nodeWrites(bed, position, 'w-1')
    const again = writes.find(
      ({ requestBody }) =>
        requestBody.metadata?.annotations?.[MARK_KEYS.attempt]?.includes(`"uid":"`) &&
        !requestBody.metadata.annotations[MARK_KEYS.attempt].includes(metadata.uid),
    )
    expect(again?.requestBody).toMatchObject({
      metadata: { labels: { [EXCLUDE]: '' }, annotations: { [DISRUPT]: 'true', [SCALE_DOWN]: 'true' } },
      spec: { unschedulable: true },
    })
    const node = await bed.node('w-1')
    expect(node.metadata.uid).not.toBe(metadata.uid)
    expect(carried(node)).toEqual({})
    expect(isCordoned(node)).toBe(false)
  })

  it('CKS-21 is taken away by a release of what a terminated rollout has left', async () => {
    await bed.startCluster({ workers: 2 })
    const before = await found(bed)
    await patchNode(bed, 'w-2', {
      metadata: { labels: { [EXCLUDE]: '' }, annotations: { [DISRUPT]: 'true', [SCALE_DOWN]: 'true' } },
    })
    await markAsLeft(bed, 'w-2', {
      added: { labels: { [EXCLUDE]: null }, annotations: { [DISRUPT]: null, [SCALE_DOWN]: null } },
    })
    await bed.startWorker()

    const released = await bed.endOf(await bed.startType('releaseCluster', bed.target()))

    expect(released).toMatchObject({ kind: 'completed', result: { givenBack: ['w-2'] } })
    await expectAsFound(bed, before)
    await untilEvent(bed, 'w-2', 'NoderollGivenBack')
  })

  it('every step is told as an Event on the Node, with the rollout, in one request each', async () => {
    await bed.startCluster({ workers: 1 })
    await runWorkload(bed.kube.api, 'DaemonSet', 'agent', { on: 'w-1' })
    const { metadata } = await bed.node('w-1')
    const position = await bed.kube.audit.mark()
    await bed.startWorker()

    const handle = await bed.start(bed.spec(TO_LARGE))
    const end = await bed.endOf(handle)

    expect(end.kind).toBe('completed')
    await untilEvent(bed, 'w-1', 'NoderollGivenBack')
    await bed.kube.audit.settled()
    const asked = await bed.kube.audit.since(position, { user: 'noderoll', resource: 'events' })
    expect(asked.map(({ verb, code, requestBody }) => `${verb} ${code} ${requestBody.reason}`)).toEqual(
      [
        ...['NoderollMarked', 'NoderollDraining', 'NoderollDrained', 'NoderollStopping', 'NoderollStopped'],
        ...[
          'NoderollChanged',
          'NoderollStarting',
          'NoderollStarted',
          'NoderollVerified',
          'NoderollGivenBack',
        ],
      ].map((reason) => `create 201 ${reason}`),
    )
    const events = await nodeEvents(bed, 'w-1')
    expect(events).toHaveLength(asked.length)
    const { firstExecutionRunId } = await handle.describe().then(({ raw }) => ({
      firstExecutionRunId: raw.workflowExecutionInfo?.firstRunId,
    }))
    for (const event of events) {
      expect(event.involvedObject).toMatchObject({ kind: 'Node', name: 'w-1', uid: metadata.uid })
      expect(event.message).toContain(`/cluster-rollout/prod/${firstExecutionRunId}`)
    }
  })
})
