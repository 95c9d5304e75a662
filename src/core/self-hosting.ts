import { type Member, nameOf, type PoolSettings, type Problem } from './model.js'
import { differences } from './out-of-date.js'

/** A process that works for noderoll, and where. */
export interface WorkerPlace {
  readonly identity: string
  /** Null where the process was not told, as outside of Kubernetes. */
  readonly place: PodPlace | null
}

export interface PodPlace {
  readonly node: string
  readonly namespace: string
  readonly pod: string
}

export interface SelfHosting {
  /** Every worker that polls for this cluster's rollouts. */
  readonly workers: readonly WorkerPlace[]
  /** Those of them whose pods are in the very cluster that is rolled. */
  readonly inside: readonly PodPlace[]
  /** Host of the Temporal server, where it is a Service of the very cluster; else null. */
  readonly temporalInside: string | null
}

/** Nodes that noderoll itself runs on: last in their pools. */
export function ownNodes({ inside }: SelfHosting): string[] {
  return [...new Set(inside.map(({ node }) => node))].sort()
}

/**
 * Why a rollout that takes down what it runs on is refused unless the spec says `selfHosted: true`. Only nodes that would
 * be rolled count.
 */
export function selfHostingProblems(
  hosting: SelfHosting,
  members: readonly Member[],
  settings: Readonly<Record<string, PoolSettings>>,
): Problem[] {
  const rolled = members.filter((member) => {
    const wanted = settings[member.pool]
    return wanted !== undefined && differences(member.machine, wanted).length > 0
  })
  if (rolled.length === 0) return []
  const fix = 'or write selfHosted: true if it may stand still until it runs elsewhere'
  const problems: Problem[] = []
  if (hosting.temporalInside !== null) {
    problems.push({
      where: 'selfHosted',
      what: `Temporal (${hosting.temporalInside}) runs in the cluster that is to be rolled`,
      fix: `roll it from a Temporal outside, ${fix}`,
    })
  }
  const [node, ...others] = ownNodes(hosting)
  const allInside = hosting.workers.length > 0 && hosting.workers.length === hosting.inside.length
  if (node !== undefined && others.length === 0 && allInside && rolled.some((one) => nameOf(one) === node)) {
    problems.push({
      where: 'selfHosted',
      what: `every worker of noderoll (${hosting.inside.length}) runs on node ${node}, which is to be rolled`,
      fix: `run another one on another node, ${fix}`,
    })
  }
  return problems
}
