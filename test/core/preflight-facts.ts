import type { Batch } from '../../src/core/batch.js'
import type { Member } from '../../src/core/model.js'
import { holdups, type PreflightFacts } from '../../src/core/preflight.js'

/** All is well with what is not given. */
export function facts(members: readonly Member[], overrides: Partial<PreflightFacts> = {}): PreflightFacts {
  return { members, outsiders: [], etcd: null, etcdReady: null, apiServers: {}, ...overrides }
}

export function preflight(
  batch: Batch,
  found: PreflightFacts,
  options: { tolerateUnready?: number; leave?: readonly string[] } = {},
): string[] {
  return holdups(batch, found, { tolerateUnready: 0, startStopped: true, leave: [], ...options })
}
