import { afterEach, describe, expect, it } from 'vitest'
import { type ClusterUnderTest, onBoth } from './conformance.js'

const ATTACHMENTS = '/apis/storage.k8s.io/v1/volumeattachments'
const CLAIMS = '/api/v1/NS/persistentvolumeclaims'

/** As much as the server wants; nobody but the test attaches or binds. */
const ATTACHED = { attacher: 'csi.example.com', nodeName: 'w-1', source: { persistentVolumeName: 'pv-1' } }
const CLAIMED = {
  volumeName: 'pv-1',
  storageClassName: '',
  accessModes: ['ReadWriteOnce'],
  resources: { requests: { storage: '1Gi' } },
}

onBoth('volumes that a drain waits for', (cluster: () => ClusterUnderTest) => {
  afterEach(async () => {
    await cluster().call('DELETE', ATTACHMENTS)
  })

  it('a VolumeAttachment is made, listed and gone', async () => {
    const made = await cluster().call('POST', ATTACHMENTS, { metadata: { name: 'csi-1' }, spec: ATTACHED })
    const listed = await cluster().call('GET', ATTACHMENTS)
    const deleted = await cluster().call('DELETE', `${ATTACHMENTS}/csi-1`)

    expect(made).toMatchObject({
      status: 201,
      body: { kind: 'VolumeAttachment', spec: ATTACHED, status: { attached: false } },
    })
    expect(listed.body).toMatchObject({
      kind: 'VolumeAttachmentList',
      apiVersion: 'storage.k8s.io/v1',
      metadata: { resourceVersion: expect.any(String) },
      items: [{ metadata: { name: 'csi-1' }, spec: ATTACHED }],
    })
    expect(deleted.status).toBe(200)
    expect((await cluster().call('GET', `${ATTACHMENTS}/csi-1`)).status).toBe(404)
  })

  it('a VolumeAttachment with a finalizer goes when that does', async () => {
    const metadata = { name: 'csi-2', finalizers: ['external-attacher/csi-example-com'] }
    await cluster().call('POST', ATTACHMENTS, { metadata, spec: ATTACHED })
    await cluster().call('DELETE', `${ATTACHMENTS}/csi-2`)

    const held = await cluster().call('GET', `${ATTACHMENTS}/csi-2`)
    await cluster().call('PATCH', `${ATTACHMENTS}/csi-2`, { metadata: { finalizers: null } })

    expect(held.body.metadata).toMatchObject({ deletionTimestamp: expect.any(String) })
    expect((await cluster().call('GET', `${ATTACHMENTS}/csi-2`)).status).toBe(404)
  })

  it('a claim says which volume it is for', async () => {
    const made = await cluster().call('POST', CLAIMS, { metadata: { name: 'data' }, spec: CLAIMED })

    expect(made).toMatchObject({
      status: 201,
      body: { kind: 'PersistentVolumeClaim', spec: { ...CLAIMED, volumeMode: 'Filesystem' }, status: {} },
    })
    expect((await cluster().call('GET', `${CLAIMS}/data`)).body.spec.volumeName).toBe('pv-1')
    expect((await cluster().call('GET', `${CLAIMS}/none`)).body).toMatchObject({
      reason: 'NotFound',
      message: 'persistentvolumeclaims "none" not found',
    })
  })

  describe('is refused without', () => {
    it.each<[string, string, object, string[]]>([
      [
        'an attacher and a node',
        ATTACHMENTS,
        { source: ATTACHED.source },
        ['FieldValueRequired spec.attacher', 'FieldValueInvalid spec.nodeName'],
      ],
      ['a volume', ATTACHMENTS, { ...ATTACHED, source: {} }, ['FieldValueRequired spec.source']],
      ['access modes', CLAIMS, { ...CLAIMED, accessModes: [] }, ['FieldValueRequired spec.accessModes']],
      ['a size', CLAIMS, { ...CLAIMED, resources: {} }, ['FieldValueRequired spec.resources[storage]']],
    ])('%s', async (_, path, spec, fields) => {
      const answer = await cluster().call('POST', path, { metadata: { name: 'wrong' }, spec })

      expect(answer.status).toBe(422)
      const causes: { field: string; reason: string; message: string }[] = answer.body.details.causes
      expect(causes.map(({ field, reason }) => `${reason} ${field}`)).toEqual(fields)
    })
  })
})
