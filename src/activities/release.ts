import { log } from '@temporalio/activity'
import type { InCluster, Released, ReleaseInput } from '../api/activities.js'
import { failure } from '../api/failures.js'
import { capacityOf } from '../core/health.js'
import { backToQuarantineChange, clearMarksChange } from '../core/marks.js'
import type { NodeRecord } from '../core/model.js'
import { countPools } from '../core/next-batch.js'
import { bounded } from '../core/progress.js'
import { type Capacity, type ClusterRecord, isAnothers } from '../core/record.js'
import { releaseDecision } from '../core/recovery.js'
import { endRecord, leftCordoned, releaseDecisions } from '../core/release.js'
import type { Connections, World } from '../ports/connections.js'
import { allEnded } from './all-ended.js'
import { type Attempt, attempting } from './attempt.js'
import { changeNode } from './change-node.js'
import { anotherCluster, type ClusterFacts, readFacts, whyNotHealthy } from './facts.js'
import { freeLease } from './let-go.js'
import { tellNode } from './node-events.js'
import { holderOf } from './ours.js'
import { orFailure } from './port-failure.js'
import { updateRecord } from './update-record.js'

/**
 * The end of every rollout (CKS-21): gives back what may be given back, leaves the rest for someone to look at, recounts
 * capacity, sets the state, records or clears lastError, frees the Lease. Idempotent: run twice, it writes nothing the
 * second time. When the Lease is no longer ours it only reports.
 */
export function release(world: World) {
  return async (input: ReleaseInput): Promise<Released> =>
    attempting('release', (attempt) =>
      orFailure(`releasing ${input.target.cluster}`, 'ReleaseIncomplete', async () => {
        const connections = await world.connect(input.target)
        const holder = holderOf(world, input.rollout)
        const lease = await connections.records.lease(attempt.signal)
        if (lease.value.holder !== holder) {
          const { facts, unhealthy } = await look(connections, input, attempt)
          // What the record says of an error is the new holder's.
          const lastError = input.outcome === null ? facts.record.value.lastError : input.outcome.lastError
          return report(facts, { ...facts.record.value, lastError }, unhealthy, [])
        }
        const found = await readFacts(connections, [], 'now', attempt.signal)
        const givenBack = await giveBack(world, connections, found, input, attempt)
        await tidyQuarantine(connections, found, attempt)
        const { facts, unhealthy } = await look(connections, input, attempt)
        const capacity = countCapacity(facts)
        // An attempt of a terminated rollout may be so late that another one has begun: the record is theirs then.
        const record = await updateRecord(connections.records, attempt, (now) =>
          isAnothers(now, holder) ? now : endRecord(now, unhealthy, capacity, input.outcome),
        )
        await freeLease(connections.records, holder, attempt)
        return report(facts, record, unhealthy, givenBack)
      }),
    )
}

/** What `release` would do, without a write. `needed` false: the cluster is as release would leave it. */
export function lookForRelease(world: World) {
  return async (input: InCluster): Promise<{ needed: boolean; report: Released }> =>
    attempting('release', (attempt) =>
      orFailure(`looking at ${input.target.cluster}`, 'ReleaseIncomplete', async () => {
        const connections = await world.connect(input.target)
        const lease = await connections.records.lease(attempt.signal)
        const { facts, wanted, report: found } = await look(connections, { ...input, outcome: null }, attempt)
        const another = anotherCluster(input.target, facts)
        if (another.length > 0) {
          const sentence = `Cluster ${input.target.cluster} is not released, nothing was changed: ${another.join('. ')}`
          throw failure('SettingsRefused', sentence, another)
        }
        const toGiveBack = releaseDecisions(facts.nodes, facts.machines).some(
          ({ decision }) => decision.kind === 'giveBack',
        )
        const untidy = facts.nodes.some((node) => backToQuarantineChange(node) !== null)
        const stored = facts.record.version !== null
        const stale = stored && JSON.stringify(wanted) !== JSON.stringify(facts.record.value)
        return { needed: toGiveBack || untidy || stale || lease.value.holder !== null, report: found }
      }),
    )
}

async function giveBack(
  world: World,
  connections: Connections,
  facts: ClusterFacts,
  input: ReleaseInput,
  attempt: Attempt,
): Promise<string[]> {
  const decided = releaseDecisions(facts.nodes, facts.machines)
  const given = await allEnded(
    decided
      .filter(({ decision }) => decision.kind === 'giveBack')
      .map(async ({ node, decision }) => {
        if (!(await giveBackOne(connections, facts, node, attempt))) return []
        const text = `Given back by release${decision.kind === 'giveBack' ? `: ${decision.why}` : ''}`
        tellNode(world, connections.cluster, input, node, {
          type: 'Normal',
          reason: 'NoderollGivenBack',
          text,
        })
        return [node.name]
      }),
  )
  return given.flat()
}

/** A rollout that ended in the middle of a further try has left more on a node in quarantine than belongs there. */
async function tidyQuarantine(
  connections: Connections,
  facts: ClusterFacts,
  attempt: Attempt,
): Promise<void> {
  const untidy = facts.nodes.filter(
    (node) => node.marks.acting === null && backToQuarantineChange(node) !== null,
  )
  await allEnded(
    untidy.map(({ name }) => changeNode(connections.cluster, attempt, name, backToQuarantineChange)),
  )
}

/** Decided again on the node and the machine as they are at the write: a stop may have been accepted meanwhile. */
async function giveBackOne(
  connections: Connections,
  facts: ClusterFacts,
  node: NodeRecord,
  attempt: Attempt,
): Promise<boolean> {
  const known =
    facts.machines.find(
      (one) => one.providerId !== null && one.providerId.toLowerCase() === node.providerId?.toLowerCase(),
    ) ?? facts.machines.find((one) => one.name === node.name)
  const machine = known === undefined ? null : await connections.machines.get(known.id, attempt.signal)
  let given = false
  await changeNode(connections.cluster, attempt, node.name, (now) => {
    given = releaseDecision(now, machine).kind === 'giveBack'
    return given ? clearMarksChange(now, { uncordon: true }) : null
  })
  return given
}

function countCapacity(facts: ClusterFacts): Capacity | null {
  const machines = facts.members.map((member) => member.machine)
  const unknown = machines.filter(({ cpu, memoryMiB }) => cpu === null || memoryMiB === null)
  if (unknown.length > 0) {
    const offerings = [...new Set(unknown.map(({ offering }) => offering))].slice(0, 10)
    log.warn('Keeping the capacity that was counted before', {
      reason: `the provider does not say what ${offerings.join(', ')} has`,
    })
  }
  return capacityOf(machines)
}

interface Look {
  readonly facts: ClusterFacts
  readonly unhealthy: readonly string[]
  readonly wanted: ClusterRecord
  readonly report: Released
}

async function look(connections: Connections, input: ReleaseInput, attempt: Attempt): Promise<Look> {
  const facts = await readFacts(connections, [], 'now', attempt.signal)
  const unhealthy = await whyNotHealthy(connections, facts, attempt.signal)
  const capacity = capacityOf(facts.members.map((member) => member.machine))
  const wanted = endRecord(facts.record.value, unhealthy, capacity, input.outcome)
  return { facts, unhealthy, wanted, report: report(facts, wanted, unhealthy, []) }
}

function report(
  facts: ClusterFacts,
  record: ClusterRecord,
  unhealthy: readonly string[],
  givenBack: readonly string[],
): Released {
  return {
    state: record.state ?? 'Alert',
    capacity: record.capacity,
    givenBack: bounded(givenBack),
    leftCordoned: bounded(leftCordoned(releaseDecisions(facts.nodes, facts.machines))),
    unhealthy: bounded(unhealthy),
    pools: countPools(facts).map((pool) => ({
      ...pool,
      settings: facts.record.value.pools[pool.pool]?.settings ?? null,
    })),
    lastError: record.lastError,
  }
}
