import type { Problem } from '../core/model.js'
import type { RolloutSpec } from '../core/spec.js'
import { parseRollout, parseTarget, sayProblems } from '../spec/parse.js'
import type { RolloutRequest } from '../spec/schema.js'
import { NoderollError } from './noderoll-error.js'

/**
 * Checks a request before it is sent, so that mistakes show at once and all together. The worker checks again, and
 * decides. Throws `invalidSpec`.
 */
export function checkRollout(request: unknown): RolloutSpec {
  const parsed = parseRollout(request)
  if (!parsed.ok) throw invalidSpec(parsed.problems)
  return parsed.value
}

/** The part of a spec that says how a cluster is reached. */
export type TargetRequest = Pick<RolloutRequest, 'cluster' | 'kubernetes' | 'machines' | 'etcd'>

/** As `checkRollout`, for what `clusterStatus` and `releaseCluster` take. Of a whole spec, the part they take. */
export function checkTarget(request: TargetRequest): TargetRequest {
  const { cluster, kubernetes, machines, etcd } = request
  const target = { cluster, kubernetes, machines, ...(etcd === undefined ? {} : { etcd }) }
  const parsed = parseTarget(target)
  if (!parsed.ok) throw invalidSpec(parsed.problems)
  return target
}

function invalidSpec(problems: readonly Problem[]): NoderollError {
  const count = problems.length === 1 ? '1 mistake' : `${problems.length} mistakes`
  const message = `the spec has ${count}, nothing was sent: ${sayProblems(problems)}`
  return new NoderollError('invalidSpec', message, { problems, type: 'InvalidSpec' })
}
