import { z } from 'zod'
import { EMPTY_RECORD } from '../../core/record.js'
import type { KubernetesAccess } from '../../core/spec.js'
import type { LeaseRecord, Records } from '../../ports/records.js'
import { KubernetesApi } from './api.js'
import { dataOf, isSameData, recordOf } from './record-data.js'
import { STORED_METADATA, StoredObject } from './stored-object.js'

const CONFIG_MAP = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  schema: z.looseObject({
    metadata: STORED_METADATA,
    data: z.record(z.string(), z.string()).nullish(),
  }),
}

const LEASE_SPEC = z
  .looseObject({ holderIdentity: z.string().nullish(), acquireTime: z.string().nullish() })
  .nullish()

const LEASE = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  plural: 'leases',
  schema: z.looseObject({ metadata: STORED_METADATA, spec: LEASE_SPEC }),
}

/**
 * The `Records` port: the ConfigMap and the Lease `noderoll` in the access's namespace. A write that changes nothing is
 * not sent. Pass `api` to share its connections with `kubernetesCluster`.
 */
export function kubernetesRecords(
  access: KubernetesAccess,
  api: KubernetesApi = new KubernetesApi(access),
): Records {
  const configMap = new StoredObject(api, CONFIG_MAP, access.namespace)
  const lease = new StoredObject(api, LEASE, access.namespace)
  return {
    read: async (signal) => {
      const found = await configMap.read(signal)
      if (found === null) return { value: EMPTY_RECORD, version: null }
      return { value: recordOf(found.data ?? {}, configMap.where), version: found.metadata.resourceVersion }
    },

    write: async (record, version, signal) => {
      const found = version === null ? null : await configMap.at(version, signal)
      const data = dataOf(record, found?.data ?? {})
      if (found !== null && isSameData(data, found.data ?? {})) return { value: record, version }
      const stored =
        found === null
          ? await configMap.create({ data }, signal)
          : await configMap.replace(found, { data }, signal)
      // An answer that shows something else was not the API server's: read and decide again.
      if (!isSameData(data, stored.data ?? {})) throw configMap.conflict('accepted, but not stored')
      return { value: record, version: stored.metadata.resourceVersion }
    },

    lease: async (signal) => {
      const found = await lease.read(signal)
      return { value: leaseRecord(found?.spec), version: found?.metadata.resourceVersion ?? null }
    },

    writeLease: async (wanted, version, signal) => {
      const found = version === null ? null : await lease.at(version, signal)
      const asked = leaseRecord(leaseSpec(wanted))
      if (found !== null && isSameLease(leaseRecord(found.spec), asked)) return { value: asked, version }
      const spec = { ...found?.spec, ...leaseSpec(wanted) }
      const stored =
        found === null ? await lease.create({ spec }, signal) : await lease.replace(found, { spec }, signal)
      if (!isSameLease(leaseRecord(stored.spec), asked)) throw lease.conflict('accepted, but not stored')
      return { value: asked, version: stored.metadata.resourceVersion }
    },
  }
}

function leaseRecord(spec: z.infer<typeof LEASE_SPEC>): LeaseRecord {
  const holder = spec?.holderIdentity || null
  const sinceMs = Date.parse(spec?.acquireTime ?? '')
  return { holder, since: holder === null || Number.isNaN(sinceMs) ? null : new Date(sinceMs).toISOString() }
}

function leaseSpec({ holder, since }: LeaseRecord) {
  return {
    holderIdentity: holder ?? '',
    // The API server wants six digits of a second, and no time at all rather than an empty one.
    acquireTime:
      holder === null || since === null ? null : new Date(since).toISOString().replace('Z', '000Z'),
  }
}

function isSameLease(a: LeaseRecord, b: LeaseRecord): boolean {
  return a.holder === b.holder && a.since === b.since
}
