import { etcdMembers, type SeenMember, successionOf } from '../../core/etcd-view.js'
import type { EtcdMember, EtcdView, Health } from '../../core/model.js'
import { PortError } from '../../ports/errors.js'
import type { ControlPlane, HandedOver } from '../../ports/etcd.js'
import { SimulatedClient } from './client.js'
import {
  etcdHealthAnswer,
  etcdMembersAnswer,
  etcdStatusAnswer,
  hostsAnswer,
  type SimulatedOptions,
} from './schema.js'

/** A member that hangs must not hold up what the others have to say. */
const MEMBER_DEADLINE_MS = 2_000

type Seen = Pick<SeenMember, 'health' | 'appliedIndex' | 'leader'>

/** Asks each simulated etcd member and API server for itself. */
export class SimulatedControlPlane implements ControlPlane {
  readonly #client: SimulatedClient
  readonly #cluster: string

  constructor(options: SimulatedOptions) {
    this.#client = new SimulatedClient(options.url)
    this.#cluster = options.cluster
  }

  async members(signal: AbortSignal): Promise<EtcdView> {
    const path = `/clusters/${encodeURIComponent(this.#cluster)}/etcd/members`
    const list = await this.#ask(this.#client.call(path, etcdMembersAnswer, { signal }))
    if ('why' in list) return { kind: 'unknown', why: list.why }
    const seen = await Promise.all(list.answer.members.map(({ machine }) => this.#lookAt(machine, signal)))
    const members = list.answer.members.map((member, at): SeenMember => {
      const { health = 'unknown', appliedIndex = null, leader = null } = seen[at] ?? {}
      const { ID: id, name, isLearner: learner } = member
      return { id, name, learner, health, appliedIndex, leader, alarms: [] }
    })
    return { kind: 'members', members: etcdMembers(members) }
  }

  async apiServer(node: string, signal: AbortSignal): Promise<Health> {
    const listPath = `/clusters/${encodeURIComponent(this.#cluster)}/machines`
    const hosts = await this.#ask(this.#client.call(listPath, hostsAnswer, { signal }))
    if ('why' in hosts) return { kind: 'unknown', why: hosts.why }
    const machine = hosts.answer.machines.find(({ hostname }) => hostname === node)
    if (machine === undefined) return { kind: 'notOk', why: `there is no machine ${node}` }
    const path = `/machines/${encodeURIComponent(machine.id)}/apiserver/readyz`
    const answer = await this.#ask(this.#client.send(path, { deadlineMs: MEMBER_DEADLINE_MS, signal }))
    if ('why' in answer) return { kind: 'unknown', why: answer.why }
    const { status, text } = answer.answer
    return status === 200 ? { kind: 'ok' } : { kind: 'notOk', why: `/readyz of ${node}: ${status} ${text}` }
  }

  async handOverFrom(node: string, signal: AbortSignal): Promise<HandedOver> {
    const succession = successionOf(await this.members(signal), node)
    if (succession.kind !== 'heir') return succession
    const { id, name } = succession.heir
    const path = `/clusters/${encodeURIComponent(this.#cluster)}/etcd/leader`
    const said = await this.#ask(this.#client.send(path, { method: 'POST', body: { to: id }, signal }))
    if ('why' in said) return { kind: 'cannot', why: said.why }
    return said.answer.status === 200
      ? { kind: 'handedOver', to: name }
      : { kind: 'cannot', why: `${path} answered ${said.answer.status} ${said.answer.text}` }
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
      appliedIndex: 'why' in status ? null : status.answer.raftAppliedIndex,
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

function healthOf(text: string): EtcdMember['health'] {
  try {
    return etcdHealthAnswer.parse(JSON.parse(text)).health === 'true' ? 'healthy' : 'unhealthy'
  } catch {
    // Whoever answered there was not etcd.
    return 'unknown'
  }
}
