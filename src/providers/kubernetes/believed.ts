import type { Answer } from './call.js'
import { statusOf } from './errors.js'

/** A permission may be granted at any time; until then nobody waits twice for the same no. */
const BELIEVED_MS = 60_000

/** What the authorizer has said more than once and is believed for a while: "cannot list resource nodes", of whatever object. */
export class Believed {
  readonly #untilMs = new Map<string, number>()

  has(forbidden: Answer): boolean {
    return (this.#untilMs.get(ruleIn(forbidden)) ?? Number.NEGATIVE_INFINITY) > performance.now()
  }

  add(forbidden: Answer): void {
    const now = performance.now()
    for (const [rule, untilMs] of this.#untilMs) if (untilMs < now) this.#untilMs.delete(rule)
    this.#untilMs.set(ruleIn(forbidden), now + BELIEVED_MS)
  }
}

function ruleIn(forbidden: Answer): string {
  const said = statusOf(forbidden)?.message ?? ''
  return said.slice(said.indexOf(' cannot '))
}
