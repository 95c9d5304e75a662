import { type KillPoint, PHASES } from '../support/kill-point.js'

/** The steps of a rollout in the order they come. */
const STEPS = [
  'checkSettings',
  'takeLease',
  'beginRollout',
  'storeSettings',
  'nextBatch',
  'preflightBatch',
  'cordonNodes',
  'drainNode',
  'stopMachine',
  'resizeMachine',
  'startMachine',
  'verifyNode',
  'release',
] as const

/** Longest time an `in` kill comes after the step began, in milliseconds: about as long as a step takes. */
const LONGEST_MS = 60

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/**
 * Deals every kill point (each step; before, in and after it) to the runs, shuffled by the seed, as evenly as can be; each
 * run's in the order of the steps, so that each is reached. Ten runs cover them all.
 */
export function deal(runs: number, random: () => number): KillPoint[][] {
  const hands: KillPoint[][] = Array.from({ length: runs }, () => [])
  for (let round = 0; round < Math.max(1, Math.floor(runs / 10)); round++) {
    const points = STEPS.flatMap((activity) =>
      PHASES.map((phase): KillPoint => ({ activity, phase, afterMs: Math.floor(random() * LONGEST_MS) })),
    )
    for (let i = points.length - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1))
      const [a, b] = [points[i], points[j]]
      if (a !== undefined && b !== undefined) [points[i], points[j]] = [b, a]
    }
    for (const [index, point] of points.entries()) hands[(round * 10 + (index % 10)) % runs]?.push(point)
  }
  return hands.map((hand) => hand.sort((a, b) => order(a) - order(b)))
}

function order(point: KillPoint): number {
  return STEPS.indexOf(point.activity as (typeof STEPS)[number]) * PHASES.length + PHASES.indexOf(point.phase)
}
