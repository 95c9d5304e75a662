import type { EtcdMember, Health } from '../../core/model.js'
import type { Addresses } from './addresses.js'
import { Asking, oneLine, type Said } from './ask.js'

/** The API servers of the control nodes, each asked for itself. `/readyz` may be read by anybody by default. */
export class ApiServers {
  readonly #addresses: Addresses
  readonly #asking: Asking

  constructor(addresses: Addresses, caFile: string | undefined) {
    this.#addresses = addresses
    this.#asking = new Asking({ caFile })
  }

  /** Does the API server on this machine answer `/readyz`? Never throws but `signal`'s reason. */
  async ready(name: string, signal: AbortSignal): Promise<Health> {
    const found = await this.#addresses(signal)
    if ('why' in found) return { kind: 'unknown', why: found.why }
    const address = found.answer.find((one) => one.name === name)
    if (address === undefined)
      return { kind: 'unknown', why: `nothing says where the API server of ${name} is` }
    const said = await this.#asking.text(`${address.url}/readyz`, signal)
    if ('why' in said) return { kind: 'unknown', why: said.why }
    const { status, text } = said.answer
    if (status === 200) return { kind: 'ok' }
    const kind = status === 500 ? 'notOk' : 'unknown'
    return { kind, why: `/readyz of ${name} answered ${status}: ${oneLine(text)}` }
  }

  /**
   * The members as the API servers beside them see them: the check named `etcd` is a linearizable read by the member on
   * the same machine, which a learner refuses and a member that lags cannot finish.
   */
  async members(signal: AbortSignal): Promise<Said<EtcdMember[]>> {
    const found = await this.#addresses(signal)
    if ('why' in found) return found
    const members = await Promise.all(
      found.answer.map(async ({ name, url }) => {
        const said = await this.#asking.text(`${url}/readyz?verbose`, signal)
        const text = 'why' in said ? '' : said.answer.text
        const health = /^\[\+\]etcd ok/m.test(text)
          ? 'healthy'
          : /^\[-\]etcd /m.test(text)
            ? 'unhealthy'
            : 'unknown'
        return {
          id: `unknown, beside ${url}`,
          name,
          learner: false,
          health,
          caughtUp: health === 'healthy',
          behind: health === 'healthy' ? 0 : null,
          leader: false,
          alarms: [],
        } satisfies EtcdMember
      }),
    )
    return { answer: members }
  }
}
