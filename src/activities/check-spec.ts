import { failure } from '../api/failures.js'
import type { Problem } from '../core/model.js'
import type { RolloutSpec, Target } from '../core/spec.js'
import type { World } from '../ports/connections.js'
import { parseRollout, parseTarget, sayProblems, targetIn } from '../spec/parse.js'

/**
 * Checks a spec and fills in its defaults. Throws `InvalidSpec` naming every wrong field and what to write instead. Done in
 * an activity, so that its result is recorded: stricter checks never break a running rollout.
 */
export function checkSpec(world: World) {
  return async ({ spec }: { spec: unknown }): Promise<{ spec: RolloutSpec; searchAttributes: boolean }> => {
    const parsed = parseRollout(spec)
    refuse(parsed.ok ? [] : parsed.problems, parsed.ok ? parsed.value.target : targetIn(spec), world)
    if (!parsed.ok) throw new Error('unreachable: a spec with problems is refused')
    return { spec: parsed.value, searchAttributes: world.executions.searchAttributes }
  }
}

/** As `checkSpec`, for the workflows that need to know only which cluster. */
export function checkTarget(world: World) {
  return async ({ request }: { request: unknown }) => {
    const parsed = parseTarget(request)
    refuse(parsed.ok ? [] : parsed.problems, parsed.ok ? parsed.value.target : targetIn(request), world)
    if (!parsed.ok) throw new Error('unreachable: a request with problems is refused')
    return parsed.value
  }
}

function refuse(found: readonly Problem[], target: Target | null, world: World): void {
  const problems = [...found, ...(target === null ? [] : world.checkTarget(target))]
  if (problems.length === 0) return
  const count = problems.length === 1 ? '1 mistake' : `${problems.length} mistakes`
  throw failure(
    'InvalidSpec',
    `The spec has ${count}, nothing was changed: ${sayProblems(problems)}`,
    problems,
  )
}
