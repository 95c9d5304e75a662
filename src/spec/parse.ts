import type { z } from 'zod'
import { issueWords } from '../core/issue-words.js'
import type { MachineType, PoolSpec, Problem, Selector } from '../core/model.js'
import type { RolloutSpec, Target } from '../core/spec.js'
import { drainProblems, toDrainPolicy } from './drain.js'
import { type CheckedRequest, poolSchema, rolloutSchema, targetInSchema, targetSchema } from './schema.js'

export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** Checks a request and fills in defaults; names every field that is wrong, each with what to write instead. */
export function parseRollout(request: unknown): Parsed<RolloutSpec> {
  const parsed = rolloutSchema.safeParse(request)
  if (!parsed.success) {
    const found = problemsOf(parsed.error)
    const named = new Set(found.map((problem) => problem.where))
    return {
      ok: false,
      problems: [...found, ...crossChecks(whatParses(request)).filter(({ where }) => !named.has(where))],
    }
  }
  const problems = crossChecks(parsed.data)
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: toSpec(parsed.data) }
}

/** The parts of a wrong request that are right, so that one mistake does not hide what is wrong with the rest. */
function whatParses(request: unknown): Checked {
  const { shape } = rolloutSchema
  const given: Record<string, unknown> = typeof request === 'object' && request !== null ? { ...request } : {}
  const read = <K extends 'drain' | 'changeReserve' | 'batchTimeout'>(key: K) => {
    const part = shape[key].safeParse(given[key])
    return (part.success ? part.data : shape[key].parse(undefined)) as CheckedRequest[K]
  }
  const pools = Object.entries(
    typeof given.pools === 'object' && given.pools !== null ? given.pools : {},
  ).flatMap(([name, one]) => {
    const part = poolSchema.safeParse(one)
    return part.success ? [[name, part.data] as const] : []
  })
  return {
    pools: Object.fromEntries(pools),
    etcd: given.etcd,
    // Of a `rollout` that cannot be read nothing is known, least of all that it is false.
    rollout: given.rollout === undefined ? false : given.rollout !== false,
    drain: read('drain'),
    changeReserve: read('changeReserve'),
    batchTimeout: read('batchTimeout'),
  }
}

/** What the checks across fields look at. Of `etcd` only whether it is there. */
interface Checked
  extends Pick<CheckedRequest, 'pools' | 'rollout' | 'drain' | 'changeReserve' | 'batchTimeout'> {
  readonly etcd?: unknown
}

/** Which cluster a request means that is wrong elsewhere; null when it is wrong there, too. */
export function targetIn(request: unknown): Target | null {
  const parsed = targetInSchema.safeParse(request)
  return parsed.success ? toTarget(parsed.data) : null
}

/** Checks the target of `releaseCluster` and `clusterStatus`. */
export function parseTarget(
  request: unknown,
): Parsed<{ target: Target; takeOver: string | null; page: number }> {
  const parsed = targetSchema.safeParse(request)
  if (!parsed.success) return { ok: false, problems: problemsOf(parsed.error) }
  return {
    ok: true,
    value: { target: toTarget(parsed.data), takeOver: parsed.data.takeOver ?? null, page: parsed.data.page },
  }
}

/** `field: what; fix` for people. */
export function sayProblems(problems: readonly Problem[]): string {
  return problems.map(({ where, what, fix }) => `${where}: ${what}${fix === '' ? '' : `; ${fix}`}`).join('. ')
}

function problemsOf(error: z.ZodError): Problem[] {
  return error.issues.flatMap((issue) => {
    const where = issue.path.join('.') || 'spec'
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        where: where === 'spec' ? key : `${where}.${key}`,
        what: 'is no field of a spec',
        fix: 'remove it or correct its name',
      }))
    }
    return [{ where, what: issueWords(issue), fix: '' }]
  })
}

function crossChecks(request: Checked): Problem[] {
  const problems: Problem[] = []
  const pools = Object.entries(request.pools)
  for (const [name, pool] of pools) {
    const type = typeOf(name, pool.type)
    const at = `pools.${name}`
    if (type === null) {
      problems.push({ where: `${at}.type`, what: 'is missing', fix: 'write control, worker or etcd' })
      continue
    }
    if (pool.type !== undefined && pool.type !== type) {
      problems.push({
        where: `${at}.type`,
        what: `is ${pool.type}, but the pool is called ${name}`,
        fix: 'rename the pool or drop the type',
      })
    }
    if (type === 'etcd' && pool.select?.machines === undefined) {
      problems.push({
        where: `${at}.select.machines`,
        what: 'is missing',
        fix: 'name the etcd machines: they have no Node to select by',
      })
    }
    if (type === 'worker' && name !== 'worker' && pool.select === undefined) {
      problems.push({
        where: `${at}.select`,
        what: 'is missing',
        fix: 'say by which labels its nodes are found',
      })
    }
    if (type !== 'etcd' && pool.select?.machines !== undefined) {
      problems.push({
        where: `${at}.select.machines`,
        what: 'is for etcd pools',
        fix: 'select nodes by labels',
      })
    }
    if (type !== 'worker' && pool.maxUnavailable !== undefined) {
      problems.push({
        where: `${at}.maxUnavailable`,
        what: 'is for worker pools',
        fix: `remove it: ${type} nodes go one at a time`,
      })
    }
    if (pool.maxUnavailable !== undefined && !request.rollout) {
      problems.push({
        where: `${at}.maxUnavailable`,
        what: 'means nothing with rollout: false',
        fix: 'remove it, or ask for rollout: true',
      })
    }
    if (type !== 'worker' && request.etcd === undefined) {
      problems.push({
        where: 'etcd',
        what: `is missing, and pool ${name} is a ${type} pool`,
        fix: 'say how to ask etcd',
      })
    }
  }
  const workers = pools.filter(([name, pool]) => typeOf(name, pool.type) === 'worker')
  const rest = pools.find(([name, pool]) => name === 'worker' && pool.select === undefined)
  if (rest !== undefined && workers.length > 1) {
    problems.push({
      where: 'pools.worker.select',
      what: 'is missing, and there are other worker pools',
      fix: 'say by which labels its nodes are found',
    })
  }
  const { drain, changeReserve, batchTimeout } = request
  if (drain.timeout + changeReserve > batchTimeout) {
    problems.push({
      where: 'batchTimeout',
      what: `${batchTimeout} s is less than drain.timeout (${drain.timeout} s) and changeReserve (${changeReserve} s) together`,
      fix: `write at least ${drain.timeout + changeReserve}s, or shorten the others`,
    })
  }
  return [...problems, ...drainProblems(drain)]
}

function typeOf(name: string, type: MachineType | undefined): MachineType | null {
  return name === 'control' || name === 'worker' || name === 'etcd' ? name : (type ?? null)
}

function toTarget(request: Pick<CheckedRequest, 'cluster' | 'kubernetes' | 'machines' | 'etcd'>): Target {
  const { context, kubeconfig, inCluster, endpoints, namespace } = request.kubernetes
  return {
    cluster: request.cluster,
    kubernetes: inCluster
      ? { kind: 'inCluster', endpoints, namespace }
      : { kind: 'kubeconfig', path: kubeconfig ?? null, context: context ?? null, endpoints, namespace },
    machines: withOptions(request.machines),
    etcd: request.etcd === undefined ? null : withOptions(request.etcd),
  }
}

function withOptions({ provider, ...options }: CheckedRequest['machines']): Target['machines'] {
  return { provider, options }
}

function toSpec(request: CheckedRequest): RolloutSpec {
  return {
    target: toTarget(request),
    pools: Object.entries(request.pools).map(([name, pool]) => toPool(name, pool)),
    rollout: request.rollout,
    startStopped: request.startStopped,
    selfHosted: request.selfHosted,
    tolerateUnready: request.preflight.tolerateUnready,
    drain: toDrainPolicy(request.drain),
    limits: {
      batchSeconds: request.batchTimeout,
      changeReserveSeconds: request.changeReserve,
      preflightSeconds: request.preflight.timeout,
      machineSeconds: request.machineTimeout,
      verifySeconds: request.verify.timeout,
      settleSeconds: request.verify.settle,
      waitsForCriticalPods: request.verify.criticalPods === 'wait',
      releaseSeconds: request.releaseTimeout,
    },
  }
}

function toPool(name: string, pool: CheckedRequest['pools'][string]): PoolSpec {
  const type = typeOf(name, pool.type) ?? 'worker'
  const offering = pool.offering
  return {
    name,
    type,
    select: selectorOf(pool.select),
    asked: {
      offerings: offering === undefined ? null : typeof offering === 'string' ? [offering] : offering,
      rootDiskGiB: pool.rootDiskGiB ?? null,
      affinityGroups: pool.affinityGroups ?? null,
    },
    maxUnavailable: pool.maxUnavailable ?? { count: 1 },
  }
}

function selectorOf(select: CheckedRequest['pools'][string]['select']): Selector | null {
  if (select?.labels !== undefined) return { kind: 'labels', labels: select.labels }
  return select?.machines === undefined ? null : { kind: 'machines', names: select.machines }
}
