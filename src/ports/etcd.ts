import type { EtcdView, Health } from '../core/model.js'

/**
 * The control plane's own health, asked of each member directly. Never throws for a member that cannot be
 * reached: that is an answer (`unknown`), and unknown counts as down.
 */
export interface ControlPlane {
  /** Voters and learners with health, lag and leader. `unknown` when not even the member list could be read. */
  members(signal: AbortSignal): Promise<EtcdView>
  /** Does the API server of this node, by its name in the cluster, answer `/readyz`? */
  apiServer(node: string, signal: AbortSignal): Promise<Health>
  /** Moves the leadership off the member of this node (or machine, where there is no Node) to one that is healthy and caught up; returns when that one leads. */
  handOverFrom(name: string, signal: AbortSignal): Promise<HandedOver>
}

export type HandedOver =
  | { readonly kind: 'handedOver'; readonly to: string }
  | { readonly kind: 'notLeading' }
  /** It may lead still. An election follows its stop, a second or so without writes; no reason not to stop it. */
  | { readonly kind: 'cannot'; readonly why: string }
