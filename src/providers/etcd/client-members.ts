import type { SeenMember } from '../../core/etcd-view.js'
import type { Addresses } from './addresses.js'
import { Asking, type Said, type TlsFiles } from './ask.js'
import { type Address, alarmsAnswer, healthAnswer, memberListAnswer, statusAnswer } from './schema.js'

interface Listed {
  readonly ID: string
  readonly name: string
  readonly isLearner: boolean
  readonly clientURLs: readonly string[]
}

interface Told {
  readonly address: Address
  readonly status: { readonly id: string; readonly leader: string; readonly appliedIndex: string } | null
  readonly health: SeenMember['health']
}

/** etcd at its client URLs, through its HTTP gateway (`/v3/…`, there since 3.4). */
export class ClientMembers {
  readonly #addresses: Addresses
  readonly #asking: Asking

  constructor(addresses: Addresses, files: TlsFiles) {
    this.#addresses = addresses
    this.#asking = new Asking(files)
  }

  /** Every member of the list, and who is expected there. Why not even a list could be read, otherwise. */
  async seen(
    signal: AbortSignal,
  ): Promise<Said<{ readonly members: SeenMember[]; readonly expected: readonly string[] }>> {
    const found = await this.#addresses(signal)
    if ('why' in found) return found
    const addresses = found.answer
    const [told, list, alarms] = await Promise.all([
      Promise.all(addresses.map((address) => this.#lookAt(address, signal))),
      firstAnswer(addresses, (url) =>
        this.#asking.json(`${url}/v3/cluster/member/list`, memberListAnswer, signal, { linearizable: true }),
      ),
      firstAnswer(addresses, (url) =>
        this.#asking.json(`${url}/v3/maintenance/alarm`, alarmsAnswer, signal, { action: 'GET' }),
      ),
    ])
    if ('why' in list) return list
    if ('why' in alarms) return alarms
    const members = list.answer.members.map((member) => {
      const own = told.find((one) => isOf(one, member))
      return {
        id: member.ID,
        // The name of the address is the machine's; etcd's own is whatever somebody once wrote.
        name: own?.address.name ?? member.name,
        learner: member.isLearner,
        health: own?.health ?? 'unknown',
        appliedIndex: own?.status?.appliedIndex ?? null,
        leader: own?.status?.leader ?? null,
        alarms: alarms.answer.alarms
          .filter(({ memberID, alarm }) => memberID === member.ID && alarm !== 'NONE')
          .map(({ alarm }) => alarm),
      }
    })
    return { answer: { members, expected: addresses.map(({ name }) => name) } }
  }

  /** Asks the leader to hand over to the member with this id; it answers when that one leads. */
  async handOver(leader: string, toId: string, signal: AbortSignal): Promise<Said<'done'>> {
    const found = await this.#addresses(signal)
    if ('why' in found) return found
    const address = found.answer.find(({ name }) => name === leader)
    if (address === undefined) return { why: `nothing says where the etcd member of ${leader} is` }
    const url = `${address.url}/v3/maintenance/transfer-leadership`
    const said = await this.#asking.text(url, signal, { targetID: toId }, HAND_OVER_MS)
    if ('why' in said) return said
    return said.answer.status === 200
      ? { answer: 'done' }
      : { why: `${url} answered ${said.answer.status}: ${said.answer.text.slice(0, 200)}` }
  }

  async #lookAt(address: Address, signal: AbortSignal): Promise<Told> {
    const [status, health] = await Promise.all([
      this.#asking.json(`${address.url}/v3/maintenance/status`, statusAnswer, signal, {}),
      this.#asking.text(`${address.url}/health`, signal),
    ])
    return {
      address,
      status:
        'why' in status
          ? null
          : {
              id: status.answer.header.member_id,
              leader: status.answer.leader,
              appliedIndex: status.answer.raftAppliedIndex,
            },
      health: 'why' in health ? 'unknown' : healthOf(health.answer.text),
    }
  }
}

/** Any member may answer for all; what the last one said against it when none does. */
async function firstAnswer<T>(
  addresses: readonly Address[],
  ask: (url: string) => Promise<Said<T>>,
): Promise<Said<T>> {
  const said = await Promise.all(addresses.map(({ url }) => ask(url)))
  return said.find((one) => 'answer' in one) ?? said.at(-1) ?? { why: 'no member is named' }
}

/** Electing takes a member a second or so. */
const HAND_OVER_MS = 10_000

/** By the id it tells itself; one that is silent, by the address it gave the others, then by its name. */
function isOf({ address, status }: Told, member: Listed): boolean {
  if (status !== null) return status.id === member.ID
  return (
    member.clientURLs.some((url) => url.replace(/\/$/, '') === address.url) || member.name === address.name
  )
}

/** `/health` of etcd: a linearizable read, no alarm, a leader. */
export function healthOf(text: string): SeenMember['health'] {
  try {
    return healthAnswer.parse(JSON.parse(text)).health === 'true' ? 'healthy' : 'unhealthy'
  } catch {
    // Whoever answered there was not etcd.
    return 'unknown'
  }
}
