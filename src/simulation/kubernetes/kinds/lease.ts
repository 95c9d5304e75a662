import { DecodeError } from '../objects/api-error.js'
import type { ApiObject } from '../objects/api-object.js'
import { defineResource } from '../objects/resource.js'

export interface Lease extends ApiObject {
  readonly spec: {
    readonly holderIdentity?: string
    readonly acquireTime?: string
    readonly renewTime?: string
    readonly leaseDurationSeconds?: number
  }
}

export const LEASES = defineResource<Lease>({
  group: 'coordination.k8s.io',
  kind: 'Lease',
  namespaced: true,
  unconditionalUpdate: false,
  createOnUpdate: true,
  complete(object) {
    const spec = object.spec ?? {}
    for (const time of [spec.acquireTime, spec.renewTime]) {
      // Six digits, as the server wants them, and nothing else.
      if (time !== undefined && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)$/.test(time)) {
        throw new DecodeError(
          `Lease in version "v1" cannot be handled as a Lease: parsing time ${JSON.stringify(time)} as ` +
            '"2006-01-02T15:04:05.000000Z07:00": cannot parse',
        )
      }
    }
    return { ...object, spec }
  },
})
