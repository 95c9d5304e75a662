import type { ClusterRecord } from '../core/record.js'

export interface Versioned<T> {
  readonly value: T
  /** Null: the object does not exist yet; a write creates it. */
  readonly version: string | null
}

/** The Lease as found. `holder` null: free. */
export interface LeaseRecord {
  readonly holder: string | null
  /** ISO time of acquisition, as the holder wrote it. */
  readonly since: string | null
}

/**
 * What noderoll keeps in the cluster: the ConfigMap `noderoll` and the Lease `noderoll`. Writes are
 * compare-and-set and throw `PortError` `conflict` when somebody else wrote first.
 */
export interface Records {
  /** The empty record when there is no ConfigMap. Throws `refused` when it is there and cannot be understood. */
  read(signal: AbortSignal): Promise<Versioned<ClusterRecord>>
  write(record: ClusterRecord, version: string | null, signal: AbortSignal): Promise<Versioned<ClusterRecord>>
  lease(signal: AbortSignal): Promise<Versioned<LeaseRecord>>
  writeLease(lease: LeaseRecord, version: string | null, signal: AbortSignal): Promise<Versioned<LeaseRecord>>
}
