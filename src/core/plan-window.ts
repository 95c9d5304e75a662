import type { Batch, Position } from './batch.js'
import { isUnavailable, LARGEST_BATCH, unavailableClamp } from './budget.js'
import { isMarked, type MaxUnavailable, type Member, NO_SETTINGS, nameOf } from './model.js'
import type { RolloutFacts } from './next-batch.js'
import { inRollOrder } from './order.js'
import { differences } from './out-of-date.js'

interface Pool {
  /** How many may be down, of the whole pool. */
  readonly count: number
  /** Workers with nothing but an old setting, the next one last. */
  readonly plain: Member[]
  /** Workers that need nothing and are there: they count for the size of their pool, and for nothing else. */
  readonly quiet: Member[]
}

/**
 * Those of a fleet's members that can make a difference to its next batch: a plan of thousands of batches would else
 * look at thousands of members for each. Of the workers that only wait for their turn no more are in it than a batch
 * can hold, and of those that need nothing so many that no budget is smaller than it is.
 */
export class PlanWindow {
  readonly position: Position
  readonly #facts: RolloutFacts
  readonly #pools = new Map<string, Pool>()
  #others: Member[] = []
  #shown: Member[] = []
  #waiting = new Set<Member>()
  #padding = new Set<Member>()

  constructor(facts: RolloutFacts, position: Position) {
    this.#facts = facts
    const maxUnavailable: Record<string, MaxUnavailable> = { ...position.maxUnavailable }
    for (const { name, type, maxUnavailable: own } of facts.pools) {
      if (type !== 'worker') continue
      const size = facts.members.filter((member) => member.pool === name).length
      const { count } = unavailableClamp(position.maxUnavailable[name] ?? own ?? { count: 1 }, size)
      maxUnavailable[name] = { count }
      this.#pools.set(name, { count, plain: [], quiet: [] })
    }
    this.position = { ...position, maxUnavailable }
    const left = new Set(position.leave.map((skip) => skip.name))
    const order = facts.pools.map((pool) => pool.name)
    for (const member of inRollOrder(facts.members, order, facts.goLast).reverse()) {
      const pool = this.#pools.get(member.pool)
      if (pool === undefined || left.has(nameOf(member)) || !isThere(member)) this.#others.push(member)
      else (this.#differs(member) ? pool.plain : pool.quiet).push(member)
    }
    this.#others.reverse()
  }

  /** The facts that the next batch is decided on. */
  facts(): RolloutFacts {
    this.#shown = [...this.#others]
    this.#waiting = new Set()
    this.#padding = new Set()
    for (const { count, plain, quiet } of this.#pools.values()) {
      const next = plain.splice(-Math.min(LARGEST_BATCH, count) - 1).reverse()
      const missing = count + 1 - next.length
      const padding = missing > 0 ? quiet.slice(0, missing) : []
      this.#shown.push(...next, ...padding)
      for (const member of next) this.#waiting.add(member)
      for (const member of padding) this.#padding.add(member)
    }
    return { ...this.#facts, members: this.#shown }
  }

  /** Goes on to after the batch. `after` gives the facts as they are then, member by member. */
  pass(batch: Batch, after: (facts: RolloutFacts, batch: Batch) => RolloutFacts): void {
    const shown = this.#shown
    const then = after({ ...this.#facts, members: shown }, batch).members
    this.#others = []
    const waiting: Member[] = []
    for (const [index, before] of shown.entries()) {
      const member = then[index] ?? before
      const pool = this.#pools.get(member.pool)
      if (this.#waiting.has(before) && member === before) waiting.push(member)
      else if (pool !== undefined && isThere(member) && !this.#differs(member)) {
        if (!this.#padding.has(before)) pool.quiet.push(member)
      } else this.#others.push(member)
    }
    for (const member of waiting.reverse()) this.#pools.get(member.pool)?.plain.push(member)
    this.#waiting = new Set()
  }

  /** All members, as they are by now. */
  all(): RolloutFacts {
    const pools = [...this.#pools.values()].flatMap(({ plain, quiet }) => [...plain, ...quiet])
    return { ...this.#facts, members: [...this.#others, ...this.#waiting, ...pools] }
  }

  #differs(member: Member): boolean {
    const settings = this.#facts.pools.find((pool) => pool.name === member.pool)?.settings ?? NO_SETTINGS
    return differences(member.machine, settings).length > 0
  }
}

/** Running, in service and unmarked: nothing about it is for recovery, nor counts as down. */
function isThere(member: Member): boolean {
  const { machine, node } = member
  return machine.operation === null && node !== null && !isMarked(node.marks) && !isUnavailable(member)
}
