import type { Problem } from '../core/model.js'
import type { Target } from '../core/spec.js'
import type { Cluster } from './cluster.js'
import type { ControlPlane } from './etcd.js'
import type { Executions } from './executions.js'
import type { Machines } from './machines.js'
import type { Records } from './records.js'

/** The outside worlds of one cluster. */
export interface Connections {
  readonly cluster: Cluster
  readonly records: Records
  readonly machines: Machines
  /** Null where the control plane is somebody else's (no `etcd` in the spec). */
  readonly controlPlane: ControlPlane | null
}

/** What a worker can reach. */
export interface World {
  /** Cached per target. Throws `PortError` `refused` when the target names something this worker cannot make. */
  connect(target: Target): Promise<Connections>
  /** What is wrong with the provider parts of a target, by field; empty when they can be used. Reads nothing. */
  checkTarget(target: Target): Problem[]
  readonly executions: Executions
}
