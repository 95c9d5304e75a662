import type { ApiObject } from '../objects/api-object.js'
import { defineResource, type FieldProblem } from '../objects/resource.js'

/** Nobody here attaches, binds or protects anything: these are made and deleted by hand, to be waited for. */
interface VolumeAttachment extends ApiObject {
  readonly spec: {
    readonly attacher?: string
    readonly nodeName?: string
    readonly source?: { readonly persistentVolumeName?: string; readonly inlineVolumeSpec?: object }
  }
  readonly status: { readonly attached: boolean }
}

const NO_NODE_NAME: FieldProblem = {
  reason: 'FieldValueInvalid',
  field: 'spec.nodeName',
  message:
    'Invalid value: "": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters',
}

export const VOLUME_ATTACHMENTS = defineResource<VolumeAttachment>({
  group: 'storage.k8s.io',
  kind: 'VolumeAttachment',
  namespaced: false,
  hasStatus: true,
  complete: (object, stored) => ({
    ...object,
    spec: object.spec ?? {},
    status: stored === null ? { attached: false } : { ...object.status, attached: object.status?.attached },
  }),
  problems({ spec: { attacher, nodeName, source } }) {
    const named = [source?.persistentVolumeName, source?.inlineVolumeSpec].filter(Boolean)
    return [
      ...(attacher ? [] : [required('spec.attacher', '')]),
      ...(nodeName ? [] : [NO_NODE_NAME]),
      ...(named.length === 1
        ? []
        : [required('spec.source', 'must specify exactly one of inlineVolumeSpec and persistentVolumeName')]),
    ]
  },
})

interface Claim extends ApiObject {
  readonly spec: {
    readonly accessModes?: readonly string[]
    readonly resources?: { readonly requests?: { readonly storage?: string } }
    readonly volumeName?: string
    readonly volumeMode?: string
  }
  readonly status: { readonly phase: string }
}

export const CLAIMS = defineResource<Claim>({
  group: '',
  kind: 'PersistentVolumeClaim',
  namespaced: true,
  shortNames: ['pvc'],
  hasStatus: true,
  complete: (object, stored) => ({
    ...object,
    spec: { volumeMode: 'Filesystem', ...object.spec },
    status: stored === null ? { phase: 'Pending' } : object.status,
  }),
  problems: ({ spec: { accessModes = [], resources } }) => [
    ...(accessModes.length > 0 ? [] : [required('spec.accessModes', 'at least 1 access mode is required')]),
    ...(resources?.requests?.storage ? [] : [required('spec.resources[storage]', '')]),
  ],
})

function required(field: string, message: string): FieldProblem {
  return {
    reason: 'FieldValueRequired',
    field,
    message: `Required value${message === '' ? '' : ': '}${message}`,
  }
}
