import type { EtcdMember, EtcdView, Health } from '../../core/model.js'
import { PortError } from '../../ports/errors.js'
import type { ControlPlane } from '../../ports/etcd.js'
import { SimulatedClient } from './client.js'
import { SimulatedMachines } from './machines.js'
import { etcdHealthAnswer, etcdMembersAnswer, etcdStatusAnswer, type SimulatedOptions } from './schema.js'

/** A member that hangs must not hold up what the others have to say. */
const MEMBER_DEADLINE_MS = 2_000

/** A follower so many entries behind still counts as caught up: a healthy one is never further than its last batch. */
const MOST_LAG = 1_000n

interface Seen {
  readonly health: EtcdMember['health']
  /** Null: not told. */
  readonly appliedIndex: bigint | null
  readonly leader: string | null
}

/** Asks each simulated etcd member and API server for itself. */
export class SimulatedControlPlane implements ControlPlane {
  readonly #client: SimulatedClient
  readonly #machines: SimulatedMachines
  readonly #cluster: string

  constructor(options: SimulatedOptions) {
    this.#client = new SimulatedClient(options.url)
    this.#machines = new SimulatedMachines(options)
    this.#cluster = options.cluster
  }

  async members(signal: AbortSignal): Promise<EtcdView> {
    const path = `/clusters/${encodeURIComponent(this.#cluster)}/etcd/members`
    const list = await this.#ask(this.#client.call(path, etcdMembersAnswer, { signal }))
    if ('why' in list) return { kind: 'unknown', why: list.why }
    const seen = await Promise.all(list.answer.members.map(({ machine }) => this.#lookAt(machine, signal)))
    const furthest = furthestOf(seen)
    const members = list.answer.members.map((member, at): EtcdMember => {
      const { health = 'unknown', appliedIndex = null, leader = null } = seen[at] ?? {}
      return {
        id: member.ID,
        name: member.name,
        learner: member.isLearner,
        health,
        caughtUp: appliedIndex !== null && furthest - appliedIndex <= MOST_LAG,
        leader: leader === member.ID,
      }
    })
    return { kind: 'members', members }
  }

  async apiServer(machineName: string, signal: AbortSignal): Promise<Health> {
    const machines = await this.#ask(this.#machines.list(signal))
    if ('why' in machines) return { kind: 'unknown', why: machines.why }
    const machine = machines.answer.find(({ name }) => name === machineName)
    if (machine === undefined) return { kind: 'notOk', why: `there is no machine ${machineName}` }
    const path = `/machines/${encodeURIComponent(machine.id)}/apiserver/readyz`
    const answer = await this.#ask(this.#client.send(path, { deadlineMs: MEMBER_DEADLINE_MS, signal }))
    if ('why' in answer) return { kind: 'unknown', why: answer.why }
    const { status, text } = answer.answer
    return status === 200
      ? { kind: 'ok' }
      : { kind: 'notOk', why: `/readyz of ${machineName}: ${status} ${text}` }
  }

  async #lookAt(machineId: string, signal: AbortSignal): Promise<Seen> {
    const path = `/machines/${encodeURIComponent(machineId)}/etcd`
    const options = { deadlineMs: MEMBER_DEADLINE_MS, signal }
    const [health, status] = await Promise.all([
      this.#ask(this.#client.send(`${path}/health`, options)),
      this.#ask(this.#client.call(`${path}/status`, etcdStatusAnswer, options)),
    ])
    return {
      health: 'why' in health ? 'unknown' : healthOf(health.answer.text),
      appliedIndex: 'why' in status ? null : BigInt(status.answer.raftAppliedIndex),
      leader: 'why' in status ? null : status.answer.leader,
    }
  }

  /** A failed question is an answer, too; only somebody's decision to stop is thrown. */
  async #ask<T>(question: Promise<T>): Promise<{ answer: T } | { why: string }> {
    try {
      return { answer: await question }
    } catch (error) {
      if (error instanceof PortError) return { why: error.message }
      throw error
    }
  }
}

function furthestOf(seen: readonly Seen[]): bigint {
  let furthest = 0n
  for (const { appliedIndex } of seen) {
    if (appliedIndex !== null && appliedIndex > furthest) furthest = appliedIndex
  }
  return furthest
}

function healthOf(text: string): EtcdMember['health'] {
  try {
    return etcdHealthAnswer.parse(JSON.parse(text)).health === 'true' ? 'healthy' : 'unhealthy'
  } catch {
    // Whoever answered there was not etcd.
    return 'unknown'
  }
}
