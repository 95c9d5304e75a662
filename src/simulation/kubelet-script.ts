/** Oddities of one machine's kubelet. They hold from the moment they are set. */
export interface KubeletScript {
  /** Runs and renews its Lease, but is never Ready. */
  neverReady: boolean
  /** Comes back with the boot id it had: a restart that proves nothing. */
  keepsBootId: boolean
  /** Stays NotReady for so long after each boot, in milliseconds. */
  notReadyMs: number
  /** Its node is never seen NotReady: only the boot id tells that it has restarted. */
  fastReboot: boolean
  /** A template without growpart: the disk is bigger, ephemeral-storage is not (CKS-26). */
  rootFsDoesNotGrow: boolean
  /** Makes no Node: neither its first nor, after a restart, another one in place of one that was deleted. */
  doesNotRegister: boolean
  /** How far the node's clock is ahead of everybody else's, in milliseconds. */
  clockAheadMs: number
}

export const NO_ODDITIES: Readonly<KubeletScript> = {
  neverReady: false,
  keepsBootId: false,
  notReadyMs: 0,
  fastReboot: false,
  rootFsDoesNotGrow: false,
  doesNotRegister: false,
  clockAheadMs: 0,
}
