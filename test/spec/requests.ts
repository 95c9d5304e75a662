import type { Problem } from '../../src/core/model.js'
import type { RolloutSpec } from '../../src/core/spec.js'
import { type Parsed, parseRollout, sayProblems } from '../../src/spec/parse.js'

export type Request = Record<string, unknown>

/** A good request, with these fields instead of its own. */
export function request(overrides: Request = {}): Request {
  return {
    cluster: 'prod-eu',
    kubernetes: { context: 'prod-eu' },
    machines: { provider: 'simulated' },
    pools: { worker: { offering: 'large' } },
    ...overrides,
  }
}

export const ETCD = { provider: 'simulated' }
export const ofWorker = (pool: Request, more: Request = {}) => request({ pools: { worker: pool }, ...more })
export const ofGpu = (pool: Request, more: Request = {}) =>
  request({ pools: { gpu: { type: 'worker', select: { labels: { pool: 'gpu' } }, ...pool } }, ...more })

export function problemsOf<T>(parsed: Parsed<T>): readonly Problem[] {
  return parsed.ok ? [] : parsed.problems
}

export function accepted<T>(parsed: Parsed<T>): T {
  if (!parsed.ok) throw new Error(sayProblems(parsed.problems))
  return parsed.value
}

export function specOf(given: Request): RolloutSpec {
  return accepted(parseRollout(given))
}

export function wrongIn(given: unknown): string[] {
  return problemsOf(parseRollout(given)).map((problem) => problem.where)
}
