import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { KillPoint } from '../support/kill-point.js'
import { ChaosBed, type ChaosCluster } from './chaos-bed.js'
import { deal, randomFrom } from './points.js'

const RUNS = Number(process.env.NODEROLL_CHAOS_RUNS ?? 10)
const SEED = Number(process.env.NODEROLL_CHAOS_SEED ?? randomInt(2 ** 31))
/** Rollouts at a time: each waits for heartbeat time-outs most of the time. vitest's maxConcurrency must not be more. */
const AT_ONCE = 5
const NODES = 4
const MOST_DOWN = 2

describe(`chaos, seed ${SEED}, ${RUNS} runs`, () => {
  const beds: ChaosBed[] = []
  const lanes: ChaosBed[] = []

  beforeAll(async () => {
    for (let lane = 0; lane < Math.min(AT_ONCE, RUNS); lane++) beds.push(await ChaosBed.open())
    lanes.push(...beds)
  }, 180_000)
  afterAll(() => Promise.all(beds.map((bed) => bed.close())))

  for (const [index, hand] of deal(RUNS, randomFrom(SEED)).entries()) {
    it.concurrent(`K3 run ${index + 1}: ${hand.map(say).join(', ')}`, { timeout: 280_000 }, async () => {
      // As many run at the same time as there are lanes (maxConcurrency): one is always free.
      const bed = lanes.pop()
      if (bed === undefined) throw new Error('there is no free lane')
      const cluster = await bed.startCluster(`run-${index + 1}`, NODES)
      try {
        const end = await bed.rollWithKills(cluster, hand, MOST_DOWN)

        expect(end.fired).toEqual(hand)
        expect(end.result).toMatchObject({
          outcome: 'done',
          state: 'Running',
          done: { count: NODES },
          failed: [],
        })
        expect(cluster.mostDown).toBeLessThanOrEqual(MOST_DOWN)
        expect(actsPerMachine(cluster)).toEqual(
          new Map(cluster.names.map((name) => [name, ['stop', 'setOffering', 'growRootDisk', 'start']])),
        )
        for (const node of await cluster.nodes()) {
          const marks = Object.keys(node.metadata.annotations ?? {}).filter((key) =>
            key.startsWith('noderoll.io/'),
          )
          expect([node.metadata.name, marks, node.spec.unschedulable ?? false]).toEqual([
            node.metadata.name,
            [],
            false,
          ])
        }
      } finally {
        await cluster.close()
        lanes.push(bed)
      }
    })
  }
})

/** Every call that changed something, by machine, in order. */
function actsPerMachine(cluster: ChaosCluster): Map<string, string[]> {
  const acts = new Map<string, string[]>(cluster.names.map((name) => [name, []]))
  for (const request of cluster.effectiveActs()) acts.get(request.machine ?? '')?.push(request.call)
  return acts
}

function say({ activity, phase }: KillPoint): string {
  return `${phase} ${activity}`
}
