import type { ArmSku } from './arm-skus.js'

/** What the stand-in is told when it is made; not part of its lasting state. */
export interface ArmSettings {
  readonly subscriptionId: string
  readonly location: string
  readonly skus: readonly ArmSku[]
  /** Quota by family, `cores` or `lowPriorityCores`, in any case. What is not named has room for everything. */
  readonly limits: Readonly<Record<string, number>>
  /** Sizes that the hardware under an allocated VM can run; null: all. */
  readonly clusterSizes: readonly string[] | null
  readonly delays: ArmDelays
  /** Items of a list in one answer. */
  readonly pageSize: number
  /** The seconds of `Retry-After` on an accepted call and on its first poll. */
  readonly retryAfterSeconds: number
}

/** How long operations take, in milliseconds. */
export interface ArmDelays {
  deallocateMs: number
  startMs: number
  updateMs: number
  diskMs: number
}

export const NO_DELAYS: ArmDelays = { deallocateMs: 0, startMs: 0, updateMs: 0, diskMs: 0 }
