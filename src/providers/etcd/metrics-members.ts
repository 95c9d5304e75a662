import type { SeenMember } from '../../core/etcd-view.js'
import type { Addresses } from './addresses.js'
import { Asking, type Said, type TlsFiles } from './ask.js'
import { healthOf } from './client-members.js'
import type { Address } from './schema.js'

/** etcd's metrics URLs: open to the node's network where the client URLs are not, and good for nothing but looking. */
export class MetricsMembers {
  readonly #addresses: Addresses
  readonly #asking: Asking

  constructor(addresses: Addresses, files: TlsFiles) {
    this.#addresses = addresses
    this.#asking = new Asking(files)
  }

  /** One record for each member that is named. One that nobody names cannot be seen from here. */
  async seen(signal: AbortSignal): Promise<Said<SeenMember[]>> {
    const found = await this.#addresses(signal)
    if ('why' in found) return found
    return { answer: await Promise.all(found.answer.map((address) => this.#lookAt(address, signal))) }
  }

  async #lookAt({ name, url }: Address, signal: AbortSignal): Promise<SeenMember> {
    const [health, metrics] = await Promise.all([
      this.#asking.text(`${url}/health`, signal),
      this.#asking.text(`${url}/metrics`, signal),
    ])
    const text = 'why' in metrics || metrics.answer.status !== 200 ? '' : metrics.answer.text
    const id = idIn(text) ?? `unknown, at ${url}`
    return {
      id,
      name,
      learner: valueIn(text, 'etcd_server_is_learner') === '1',
      health: 'why' in health || text === '' ? 'unknown' : healthOf(health.answer.text),
      // A counter by its name, in truth the raft index: etcd sets it to that.
      appliedIndex: wholeNumber(valueIn(text, 'etcd_server_proposals_applied_total')),
      leader: valueIn(text, 'etcd_server_is_leader') === '1' ? id : null,
      alarms: [],
    }
  }
}

/** 64-bit id; the metric has it as hexadecimal text. */
function idIn(text: string): string | null {
  const found = /^etcd_server_id\{server_id="([0-9a-f]{1,16})"\} 1$/m.exec(text)?.[1]
  return found === undefined ? null : BigInt(`0x${found}`).toString()
}

function valueIn(text: string, metric: string): string | null {
  return new RegExp(`^${metric} (\\S+)$`, 'm').exec(text)?.[1] ?? null
}

/** Prometheus writes large numbers as `1.5e+06`. */
function wholeNumber(text: string | null): string | null {
  const value = text === null ? Number.NaN : Number(text)
  return Number.isSafeInteger(value) && value >= 0 ? String(value) : null
}
