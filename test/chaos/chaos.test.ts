import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { KillPoint } from '../support/kill-point.js'
import { ChaosBed, type ChaosCluster } from './chaos-bed.js'
import { deal, randomFrom } from './points.js'

const RUNS = Number(process.env.NODEROLL_CHAOS_RUNS ?? 10)
const SEED = Number(process.env.NODEROLL_CHAOS_SEED ?? randomInt(2 ** 31))
/** Rollouts at a time: each waits for heartbeat time-outs most of the time. */
const AT_ONCE = 5
const NODES = 4
const MOST_DOWN = 2

describe(`chaos, seed ${SEED}, ${RUNS} runs`, () => {
  const lanes: ChaosBed[] = []

  beforeAll(async () => {
    for (let lane = 0; lane < Math.min(AT_ONCE, RUNS); lane++) lanes.push(await ChaosBed.open())
  }, 180_000)
  afterAll(() => Promise.all(lanes.map((lane) => lane.close())))

  const hands = deal(RUNS, randomFrom(SEED))
  for (let first = 0; first < RUNS; first += AT_ONCE) {
    describe.concurrent(`runs ${first + 1} to ${Math.min(first + AT_ONCE, RUNS)}`, () => {
      for (const [index, hand] of hands.slice(first, first + AT_ONCE).entries()) {
        const run = first + index + 1
        it(`K3 run ${run}: ${hand.map(say).join(', ')}`, { timeout: 280_000 }, async () => {
          const bed = lanes[index]
          if (bed === undefined) throw new Error(`there is no lane ${index}`)
          const cluster = await bed.startCluster(`run-${run}`, NODES)

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
          await cluster.close()
        })
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
