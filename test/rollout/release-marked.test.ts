import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { MARK_KEYS } from '../../src/core/marks.js'
import { patchNode } from '../support/batch-nodes.js'
import { marksLeft, Releases } from '../support/releases.js'
import { CLUSTER, marksOf, type RolloutBed } from '../support/rollout-bed.js'
import { makeNotReady, untilNotReady } from '../support/story-world.js'

let releases: Releases
let bed: RolloutBed

beforeAll(async () => {
  releases = await Releases.open()
  bed = releases.bed
})
afterEach(() => bed.clean())
afterAll(() => releases.close())

describe('release, on nodes that a rollout left marked', () => {
  const NAMES = [
    'rebooted',
    'untouched',
    'foreign',
    'acting',
    'failed',
    'down',
    'busy',
    'unready',
    'garbled',
    'cordoned',
  ]
  const SHOWN = { unschedulable: true, marks: 0 }

  it('CKS-21 gives back those it may, leaves the rest cordoned, and writes nothing the second time', async () => {
    const { cloud, kubelets } = await bed.startCluster({ workers: 0 })
    for (const name of NAMES) cloud.addMachine({ cluster: CLUSTER, name, type: 'worker', offering: 'small' })
    await kubelets.untilReady(NAMES)
    await bed.startWorker()
    await bed.roll({ rollout: false, pools: { worker: {} } })
    bed.cluster.cloud.machine('untouched').offering = 'huge'
    const mark = async (name: string, of: Parameters<typeof marksLeft>[1]) =>
      patchNode(bed, name, {
        metadata: {
          annotations: marksLeft(await bed.node(name), of),
          labels: { added: 'x', team: 'noderoll' },
        },
        spec: { unschedulable: true },
      })
    await mark('rebooted', { boot: 'old', acting: true })
    await mark('untouched', { boot: 'same' })
    await mark('foreign', { boot: 'same', ours: false })
    await mark('acting', { boot: 'same', acting: true })
    await mark('failed', { boot: 'old', acting: true, failure: true })
    await mark('down', { boot: 'same' })
    await mark('busy', { boot: 'same' })
    await mark('unready', { boot: 'old', acting: true })
    await patchNode(bed, 'garbled', {
      metadata: { annotations: { [MARK_KEYS.attempt]: '{' } },
      spec: { unschedulable: true },
    })
    await patchNode(bed, 'cordoned', {
      spec: { unschedulable: true, taints: [{ key: 'theirs', effect: 'NoSchedule' }] },
    })
    await patchNode(bed, 'untouched', { metadata: { annotations: { 'team.example/note': 'keep' } } })
    cloud.crash('down')
    bed.cluster.cloud.machine('busy').operation = 'op-of-somebody'
    await makeNotReady(bed, 'unready')
    await untilNotReady(bed, 'down')

    const released = await releases.release()
    const again = await releases.releaseAgain()

    const nodes = new Map((await bed.nodes()).map((node) => [node.metadata.name, node]))
    const shown = (name: string) => {
      const node = nodes.get(name)
      return {
        unschedulable: node?.spec.unschedulable ?? false,
        marks: node === undefined ? null : marksOf(node).length,
      }
    }
    expect(Object.fromEntries(NAMES.map((name) => [name, shown(name)]))).toEqual({
      rebooted: { unschedulable: false, marks: 0 },
      untouched: { unschedulable: false, marks: 0 },
      foreign: SHOWN,
      acting: { unschedulable: true, marks: 3 },
      failed: { unschedulable: true, marks: 4 },
      down: { unschedulable: true, marks: 2 },
      busy: { unschedulable: true, marks: 2 },
      unready: { unschedulable: true, marks: 3 },
      garbled: { unschedulable: true, marks: 1 },
      cordoned: SHOWN,
    })
    expect([...released.givenBack].sort()).toEqual(['foreign', 'rebooted', 'untouched'])
    expect(Object.fromEntries(released.leftCordoned.map(({ name, why }) => [name, why]))).toEqual({
      acting: 'stop was under way and the boot id is the old one',
      failed: 'failed in start: no power',
      down: 'its machine is stopped',
      busy: expect.stringContaining('op-of-somebody'),
      unready: 'stop was under way, booted since, not ready',
      garbled: `its marks cannot be read (${MARK_KEYS.attempt})`,
    })
    // What noderoll added goes, what was there before is back, what is of others stays.
    expect(nodes.get('untouched')?.metadata.labels).toMatchObject({ team: 'payments' })
    expect(nodes.get('untouched')?.metadata.labels).not.toHaveProperty('added')
    expect(nodes.get('untouched')?.metadata.annotations).toMatchObject({ 'team.example/note': 'keep' })
    expect(nodes.get('cordoned')?.spec.taints).toContainEqual({ key: 'theirs', effect: 'NoSchedule' })
    expect(released).toMatchObject({ state: 'Alert', capacity: { machines: 10, cpu: 9 * 2 + 8 } })
    expect(await bed.record()).toMatchObject({
      state: 'Alert',
      capacity: JSON.stringify({ cpu: 26, machines: 10, memoryMiB: 9 * 4096 + 16384 }),
    })
    expect(again).toEqual([])
    expect(bed.acts(false)).toEqual([])
  })

  it.each<[string, 'Running' | 'Alert', () => unknown, RegExp | null]>([
    ['all is well', 'Running', () => undefined, null],
    [
      'somebody has cordoned a node',
      'Running',
      () => patchNode(bed, 'w-1', { spec: { unschedulable: true } }),
      null,
    ],
    ['one of three etcd members is sick', 'Running', () => sick('c-1'), null],
    ['a node in no pool is not Ready', 'Running', () => makeNotReady(bed, 'x-1'), null],
    [
      'two of three etcd members are sick',
      'Alert',
      () => [sick('c-1'), sick('c-2')],
      /etcd has 1 healthy voters of 3/,
    ],
    ['a machine is off', 'Alert', () => bed.cluster.cloud.crash('w-1'), /machine of w-1 is stopped/],
    ['a machine is gone', 'Alert', () => bed.cluster.cloud.removeMachine('w-1'), /node w-1 has no machine/],
    ['a node is not Ready', 'Alert', () => makeNotReady(bed, 'w-1'), /w-1 is not ready/],
    ['a mark is left', 'Alert', () => scribble('w-1'), /node w-1 carries marks/],
    ['a mark is left on a node in no pool', 'Alert', () => scribble('x-1'), /node x-1 carries marks/],
  ])('CKS-21 %s: %s', async (_, state, arrange, why) => {
    const { cloud, kubelets } = await bed.startCluster({ control: 3, workers: 0 })
    cloud.addMachine({ cluster: CLUSTER, name: 'w-1', type: 'worker', nodeLabels: { pool: 'a' } })
    cloud.addMachine({ cluster: CLUSTER, name: 'x-1', type: 'worker', nodeLabels: { pool: 'x' } })
    await kubelets.untilReady(['w-1', 'x-1'])
    await bed.startWorker()
    await bed.roll({
      rollout: false,
      pools: { control: {}, a: { type: 'worker', select: { labels: { pool: 'a' } } } },
    })
    await arrange()

    const released = await releases.release()
    const again = await releases.releaseAgain()

    expect(released.state).toBe(state)
    expect(released.unhealthy).toEqual(why === null ? [] : [expect.stringMatching(why)])
    expect(await bed.record()).toMatchObject({ state })
    expect(again).toEqual([])
  })

  const sick = (name: string) =>
    Object.assign(bed.cluster.cloud.machine(name).etcd ?? {}, { healthy: false, reason: 'disk' })
  const scribble = (name: string) =>
    patchNode(bed, name, { metadata: { annotations: { [MARK_KEYS.failure]: '{' } } })
})
