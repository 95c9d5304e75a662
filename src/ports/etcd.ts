import type { EtcdView, Health } from '../core/model.js'

/**
 * The control plane's own health, asked of each member directly. Never throws for a member that cannot be
 * reached: that is an answer (`unknown`), and unknown counts as down.
 */
export interface ControlPlane {
  /** Voters and learners with health, lag and leader. `unknown` when not even the member list could be read. */
  members(signal: AbortSignal): Promise<EtcdView>
  /** Does the API server on this machine answer `/readyz`? */
  apiServer(machineName: string, signal: AbortSignal): Promise<Health>
}
