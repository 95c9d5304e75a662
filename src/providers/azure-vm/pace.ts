import { QuietTimes } from './quiet-times.js'
import { RateLimit } from './rate-limit.js'

/** How fast one subscription may be asked. */
export interface Pace {
  readonly reads: RateLimit
  readonly writes: RateLimit
  readonly quiet: QuietTimes
}

const BURST_SECONDS = 10
const WRITES_SHARE = 0.4

const paces = new Map<string, Pace>()

/** One for all clusters of a subscription that this worker rolls: Azure counts them together, too. */
export function paceOf(endpoint: string, subscriptionId: string, requestsPerSecond: number): Pace {
  const key = `${endpoint} ${subscriptionId}`.toLowerCase()
  const known = paces.get(key)
  if (known !== undefined) return known
  const limit = (perSecond: number) => new RateLimit(perSecond * BURST_SECONDS, perSecond)
  const pace = {
    reads: limit(requestsPerSecond),
    writes: limit(requestsPerSecond * WRITES_SHARE),
    quiet: new QuietTimes(),
  }
  paces.set(key, pace)
  return pace
}
