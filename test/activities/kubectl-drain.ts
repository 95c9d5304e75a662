import { execFile } from 'node:child_process'
import type { RealControlPlane } from '../support/parts.js'

export type Said = 'evict' | 'skip' | 'refuse'

/** Those of `kubectl drain` that decide on pods. */
export interface DrainFlags {
  readonly force?: boolean
  readonly ignoreDaemonSets?: boolean
  readonly deleteEmptyDir?: boolean
  readonly skipWaitSeconds?: number
}

/** A label that tells pods apart, so that a second drain can leave some out. */
export const CASE_LABEL = 'noderoll.test/case'

export interface OraclePod {
  /** `namespace/name`. */
  readonly full: string
  readonly node: string
  /** The value of its `CASE_LABEL`. */
  readonly id: string
}

/** kubectl holds itself to five requests a second after the first ten: that many nodes in one call, the calls together. */
const NODES_PER_CALL = 2

const POD = '[a-z0-9.-]+/[a-z0-9.-]+'

/** `kubectl drain --dry-run`, as it is. */
export class KubectlDrain {
  readonly #program: string
  readonly #environment: NodeJS.ProcessEnv

  private constructor(program: string, environment: NodeJS.ProcessEnv) {
    this.#program = program
    this.#environment = environment
  }

  static async of(controlPlane: RealControlPlane): Promise<KubectlDrain> {
    // What it keeps of a server, it keeps at home.
    const environment = { KUBECONFIG: await controlPlane.kubeconfigFile(), HOME: controlPlane.access.folder }
    return new KubectlDrain(controlPlane.kubectl, environment)
  }

  /**
   * What kubectl would do with each pod of the nodes, by `namespace/name`. It says nothing about the others of a node on
   * which it refuses one, so that it is asked again without those that it has refused.
   */
  async verdicts(
    nodes: readonly string[],
    pods: readonly OraclePod[],
    flags: DrainFlags,
  ): Promise<Map<string, Said>> {
    const groups = Array.from({ length: Math.ceil(nodes.length / NODES_PER_CALL) }, (_, index) =>
      nodes.slice(index * NODES_PER_CALL, (index + 1) * NODES_PER_CALL),
    )
    const all = await Promise.all(groups.map((group) => this.#verdictsOf(group, pods, argsOf(flags))))
    return new Map(all.flatMap((one) => [...one]))
  }

  async #verdictsOf(nodes: readonly string[], all: readonly OraclePod[], flags: readonly string[]) {
    const pods = all.filter(({ node }) => nodes.includes(node))
    const first = await this.#run(nodes, flags)
    const { refused } = first
    const ids = pods.filter(({ full }) => refused.has(full)).map(({ id }) => id)
    const others = `--pod-selector=${CASE_LABEL} notin (${ids.join(',')})`
    const second = refused.size === 0 ? first : await this.#run(nodes, [...flags, others])
    if (second.refused.size > 0) {
      throw new Error(`still refused by kubectl: ${[...second.refused].join(', ')}`)
    }
    const verdictOf = (full: string): Said => {
      if (refused.has(full)) return 'refuse'
      return second.evicted.has(full) ? 'evict' : 'skip'
    }
    return pods.map(({ full }): [string, Said] => [full, verdictOf(full)])
  }

  async #run(nodes: readonly string[], flags: readonly string[]) {
    const args = ['drain', ...nodes, '--dry-run=client', ...flags]
    const { stdout, stderr, code } = await run(this.#program, args, this.#environment)
    const evicted = podsIn(stdout, new RegExp(`^evicting pod (${POD}) \\(dry run\\)$`, 'gm'))
    const refused = podsIn(stderr, new RegExp(`cannot delete .*?: ((?:${POD}(?:, )?)+)`, 'g'))
    // It refuses pods or it succeeds: anything else would be taken for pods that it skips.
    if ((code === 0) !== (refused.size === 0)) throw new Error(`kubectl drain: exit ${code}, ${stderr}`)
    return { evicted, refused }
  }
}

function argsOf({ force, ignoreDaemonSets, deleteEmptyDir, skipWaitSeconds }: DrainFlags): string[] {
  return [
    ...(force ? ['--force'] : []),
    ...(ignoreDaemonSets ? ['--ignore-daemonsets'] : []),
    ...(deleteEmptyDir ? ['--delete-emptydir-data'] : []),
    ...(skipWaitSeconds === undefined ? [] : [`--skip-wait-for-delete-timeout=${skipWaitSeconds}`]),
  ]
}

function podsIn(text: string, pattern: RegExp): Set<string> {
  return new Set([...text.matchAll(pattern)].flatMap(([, names = '']) => names.split(', ').filter(Boolean)))
}

/** A refusal ends with code 1, and is an answer. */
function run(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ stdout: string; stderr: string; code: number }> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { env, maxBuffer: 16_000_000 }, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== 'number') reject(error)
      else resolve({ stdout, stderr, code: Number(error?.code ?? 0) })
    })
  })
}
