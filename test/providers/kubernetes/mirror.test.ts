import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { PodRecord } from '../../../src/core/pods.js'
import type { Kept } from '../../../src/ports/cluster.js'
import { answer } from '../../support/proxy.js'
import { waitUntil } from '../../support/wait.js'
import { addNode, addPod, Bed, PODS, patient, portError } from './bed.js'

let bed: Bed
let kept: Kept<PodRecord> | undefined
let changes = 0

beforeAll(async () => {
  bed = await Bed.start()
})
beforeEach(async () => {
  await bed.clean()
  await addNode(bed.admin, 'w-1')
  changes = 0
})
afterEach(() => {
  kept?.close()
  kept = undefined
})
afterAll(async () => {
  await bed?.stop()
})

async function keep(): Promise<Kept<PodRecord>> {
  kept = (await bed.open()).cluster.keepPodsOn('w-1', () => changes++)
  return kept
}

async function names(): Promise<string[]> {
  return ((await kept?.current(patient())) ?? []).map(({ name }) => name).sort()
}

async function untilNames(...expected: string[]): Promise<void> {
  await waitUntil(async () => (await names()).join() === expected.join(), {
    for: `the pods ${expected.join(', ')}`,
  })
}

const isList = ({ path }: { path: string }) => path.startsWith('/api/v1/pods') && !path.includes('watch=')
const isWatch = ({ path }: { path: string }) => path.startsWith('/api/v1/pods') && path.includes('watch=')
const EXPIRED = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' }

describe('the pods of a node, kept', () => {
  it('CKS-16 are those of the first list, and from then on what the watch tells, without another list', async () => {
    await addPod(bed.admin, 'a', 'w-1')
    await keep()
    expect(await names()).toEqual(['a'])

    await addPod(bed.admin, 'b', 'w-1')
    await untilNames('a', 'b')
    await bed.admin.ok('DELETE', `${PODS}/a?gracePeriodSeconds=30`)
    await waitUntil(
      async () =>
        (await kept?.current(patient()))?.some(({ name, terminating }) => name === 'a' && terminating),
      { for: 'a to terminate' },
    )
    await bed.admin.ok('DELETE', `${PODS}/a?gracePeriodSeconds=0`)
    await untilNames('b')

    expect(bed.proxy.requests.filter(isList)).toHaveLength(1)
    expect(changes).toBeGreaterThan(3)
  })

  it('B01 have the UID of the newcomer when one of the same name comes', async () => {
    const old = await addPod(bed.admin, 'web', 'w-1')
    await keep()
    await untilNames('web')

    await bed.admin.ok('DELETE', `${PODS}/web?gracePeriodSeconds=0`)
    const { metadata } = await addPod(bed.admin, 'web', 'w-1')

    await waitUntil(
      async () => (await kept?.current(patient()))?.map(({ uid }) => uid).join() === metadata.uid,
      { for: 'the newcomer alone' },
    )
    expect(metadata.uid).not.toBe(old.metadata.uid)
  })

  it.each([
    ['as the answer', 410, JSON.stringify(EXPIRED)],
    ['as an event', 200, `${JSON.stringify({ type: 'ERROR', object: EXPIRED })}\n`],
  ])('CKS-16 are listed again when the watch is too old: %s', async (_, code, body) => {
    await addPod(bed.admin, 'a', 'w-1')
    bed.proxy.on(isWatch, answer(code, body), { times: 1 })
    await keep()
    await untilNames('a')

    await waitUntil(() => bed.proxy.requests.filter(isList).length === 2, { for: 'another list' })

    await bed.admin.ok('DELETE', `${PODS}/a?gracePeriodSeconds=0`)
    await untilNames()
    expect(bed.proxy.requests.filter(isList)).toHaveLength(2)
  })

  it('B35 are right again after the API server was away', async () => {
    await addPod(bed.admin, 'a', 'w-1')
    await keep()
    await untilNames('a')

    await bed.proxy.down()
    await bed.admin.ok('DELETE', `${PODS}/a?gracePeriodSeconds=0`)
    await addPod(bed.admin, 'b', 'w-1')
    await bed.proxy.up()

    await untilNames('b')
    expect(bed.proxy.requests.filter(isList).length).toBeGreaterThanOrEqual(2)
  })

  it('CKS-16 are unknown, and not none, while they cannot be listed', async () => {
    const rule = bed.proxy.on(isList, answer(503, 'not now'))
    const pods = await keep()

    await expect(pods.current(patient())).rejects.toEqual(portError('unreachable'))

    rule.remove()
    await waitUntil(
      () =>
        pods.current(patient()).then(
          (found) => found.length === 0,
          () => false,
        ),
      { for: 'the list' },
    )
  })

  it('CKS-16 may not be read: that is told, also when they could be read before', async () => {
    const forbidden = { kind: 'Status', code: 403, reason: 'Forbidden', message: 'pods is forbidden' }
    bed.proxy.on(isList, answer(403, forbidden))

    await expect((await keep()).current(patient())).rejects.toEqual(portError('refused', /pods is forbidden/))
  })
})

describe('volume attachments, kept', () => {
  it('CKS-16 are watched once for all who want to know, until the last has gone', async () => {
    const { cluster } = await bed.open()
    const told = [0, 0]
    const one = cluster.keepVolumeAttachments(() => told.splice(0, 1, (told[0] ?? 0) + 1))
    const two = cluster.keepVolumeAttachments(() => told.splice(1, 1, (told[1] ?? 0) + 1))
    await Promise.all([one.current(patient()), two.current(patient())])

    one.close()
    await bed.admin.ok('POST', '/apis/storage.k8s.io/v1/volumeattachments', {
      metadata: { name: 'csi-1' },
      spec: { attacher: 'csi.example.com', nodeName: 'w-1', source: { persistentVolumeName: 'pv-1' } },
    })

    const found = await waitUntil(
      async () => {
        const all = await two.current(patient())
        return all.length === 1 && all
      },
      { for: 'the attachment' },
    )
    two.close()
    expect(found).toEqual([{ name: 'csi-1', nodeName: 'w-1', volume: 'pv-1' }])
    expect(told[1]).toBeGreaterThan(told[0] ?? 0)
    const lists = bed.proxy.requests.filter(
      ({ path }) => path.includes('volumeattachments') && !path.includes('watch='),
    )
    expect(lists).toHaveLength(1)
  })
})
