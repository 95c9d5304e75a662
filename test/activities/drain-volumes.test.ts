import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { answer } from '../support/proxy.js'
import { DrainBed } from './drain-bed.js'

const ATTACHMENTS = '/apis/storage.k8s.io/v1/volumeattachments'
const CLAIMS = '/api/v1/namespaces/default/persistentvolumeclaims'
const DAEMON_SETS = '/apis/apps/v1/namespaces/default/daemonsets'

let bed: DrainBed

beforeAll(async () => {
  bed = await DrainBed.open()
})
beforeEach(() => bed.begin())
afterEach(() => bed.end())
afterAll(() => bed?.close())

async function attach(name: string, volume: string, nodeName = 'w-1'): Promise<void> {
  await bed.parts.admin.ok('POST', ATTACHMENTS, {
    metadata: { name },
    spec: { attacher: 'csi.example.com', nodeName, source: { persistentVolumeName: volume } },
  })
}

async function detach(name: string): Promise<void> {
  await bed.parts.admin.ok('DELETE', `${ATTACHMENTS}/${name}`)
}

async function claim(name: string, volumeName: string): Promise<void> {
  await bed.parts.admin.ok('POST', CLAIMS, {
    metadata: { name },
    spec: {
      volumeName,
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
      storageClassName: '',
    },
  })
}

/** A pod of a DaemonSet, with nobody there who would rather make it himself. */
async function addAgent(claims: readonly string[]): Promise<void> {
  const { controllerManager } = bed.parts.controlPlane
  controllerManager.pause()
  onTestFinished(() => controllerManager.resume())
  const labels = { app: 'agent' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  const { metadata } = await bed.parts.admin.ok('POST', DAEMON_SETS, {
    metadata: { name: 'agent' },
    spec: { selector: { matchLabels: labels }, template },
  })
  const owner = {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    name: 'agent',
    uid: metadata.uid,
    controller: true,
  }
  await bed.addPod('agent-1', { claims, owner })
}

describe('drain.volumes: detach', () => {
  it('CKS-16 ends when the volumes of the pods that went are detached, and names them until then', async () => {
    await bed.addPod('db')
    await attach('csi-1', 'pv-1')
    await attach('csi-2', 'pv-2')
    await attach('csi-elsewhere', 'pv-3', 'w-2')
    const drain = bed.start()

    const both = await drain.untilWaitsFor(/attached/)
    await detach('csi-1')
    await detach('csi-2')
    await drain.end

    expect(both).toEqual([
      'volume pv-1 is still attached (VolumeAttachment csi-1)',
      'volume pv-2 is still attached (VolumeAttachment csi-2)',
    ])
    expect(await bed.evictions(201)).toEqual(['db'])
  })

  it('CKS-16 waits for no volume of a pod that stays', async () => {
    await claim('data-of-agent', 'pv-agent')
    await claim('data-of-kept', 'pv-kept')
    await addAgent(['data-of-agent'])
    await bed.addPod('kept', { claims: ['data-of-kept'] })
    await attach('csi-agent', 'pv-agent')
    await attach('csi-kept', 'pv-kept')
    await attach('csi-gone', 'pv-gone')
    const skip = [{ namespace: null, matchLabels: { app: 'kept' }, matchExpressions: [] }]
    const drain = bed.start({ policy: { skip } })

    const waits = await drain.untilWaitsFor(/attached/)
    await detach('csi-gone')
    await drain.end

    expect(waits).toEqual(['volume pv-gone is still attached (VolumeAttachment csi-gone)'])
    expect(await bed.evictions()).toEqual([])
  })

  it('CKS-16 waits no longer than the drain may last', async () => {
    await attach('csi-1', 'pv-1')

    await expect(bed.drain({ limitSeconds: 2 })).rejects.toMatchObject({
      type: 'DrainBlocked',
      message: 'drain of w-1 did not end in 2 s: volume pv-1 is still attached (VolumeAttachment csi-1)',
    })
  })

  it('CKS-16 waits for nothing with drain.volumes ignore, and asks for nothing', async () => {
    await attach('csi-1', 'pv-1')

    await bed.drain({ policy: { volumes: 'ignore' } })

    expect(await bed.requests({ resource: 'volumeattachments' })).toEqual([])
  })

  const FORBIDDEN = {
    kind: 'Status',
    code: 403,
    reason: 'Forbidden',
    message:
      'volumeattachments.storage.k8s.io is forbidden: User "x" cannot list resource "volumeattachments"',
  }
  const NO_API = {
    kind: 'Status',
    code: 404,
    reason: 'NotFound',
    message: 'the server could not find the requested resource',
  }

  it.each([
    ['may not look', 403, FORBIDDEN],
    ['cannot look', 404, NO_API],
  ])('CKS-16 who %s evicts nothing, and is told what is missing', async (_, code, status) => {
    await bed.addPod('db')
    bed.parts.proxy.on({ path: /volumeattachments/ }, answer(code, status))

    await expect(bed.drain()).rejects.toMatchObject({
      type: 'NotAllowed',
      nonRetryable: true,
      message: expect.stringContaining(
        'needs the permission to list and watch volumeattachments.storage.k8s.io (deploy/rbac.yaml); grant it, or set drain.volumes to ignore',
      ),
    })
    expect(await bed.evictions()).toEqual([])
  })

  it('CKS-16 who may not watch them asks again instead', async () => {
    await attach('csi-1', 'pv-1')
    bed.parts.proxy.on({ path: /volumeattachments.*watch=true/ }, answer(403, FORBIDDEN))
    const drain = bed.start()
    await drain.untilWaitsFor(/pv-1/)

    await detach('csi-1')

    expect(await drain.end).toMatchObject({ evicted: 0 })
  })
})
