import { isJsonObject } from './api-object.js'

/** What of the options of a deletion counts here. Dependents always follow, in the background. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string }
  /** Everything is checked, and nothing stored. */
  readonly dryRun?: boolean
}

/** From the body of a deletion, or a part of that of an eviction. */
export function readDeleteOptions(body: unknown): DeleteOptions {
  if (!isJsonObject(body)) return {}
  const { gracePeriodSeconds, preconditions, dryRun } = body
  return {
    ...(typeof gracePeriodSeconds === 'number' ? { gracePeriodSeconds } : {}),
    ...(isJsonObject(preconditions) ? { preconditions } : {}),
    ...(Array.isArray(dryRun) && dryRun.includes('All') ? { dryRun: true } : {}),
  }
}
