import type { KubernetesAccess } from '../../core/spec.js'
import { PortError } from '../../ports/errors.js'
import type { Answer, Call } from './call.js'
import { Credentials, type Session } from './credentials.js'
import { DeadlineError, PATIENCE_MS, REQUEST_MS, unlessAborted, withDeadline } from './deadline.js'
import { Endpoints } from './endpoints.js'
import { answerError, type Failure, failureOf, isForbiddenByRules, noAnswerError } from './errors.js'
import { type Response, readAnswer, send } from './send.js'

type Take<T> = (response: Response, server: string) => Promise<T>

/** Written by a load balancer whose API server is gone, or by an API server on its way up or down. */
const GATEWAY_CODES = [502, 503, 504]

/**
 * Requests to the API servers of one cluster. A read is tried on each of them in turn; a write goes to another one only
 * when the first certainly never saw it. Aborting the caller's signal closes the connection and rejects with its reason.
 */
export class KubernetesApi {
  readonly #credentials: Credentials
  readonly #endpoints = new Endpoints()

  constructor(access: KubernetesAccess) {
    this.#credentials = new Credentials(access)
  }

  /** One whole answer within the deadline, whatever its status. Throws `PortError` `unreachable` when there is none. */
  async call(call: Call, signal: AbortSignal): Promise<Answer> {
    return await withDeadline(REQUEST_MS, signal, async (within) => {
      const answer = await this.#inTurn(call, within, within, readAnswer)
      // Neither of these has done anything, so a write may be sent again, too.
      if (answer.code === 401) {
        // Expired or replaced since we read it.
        this.#credentials.forget()
        return await this.#inTurn(call, within, within, readAnswer)
      }
      if (isForbiddenByRules(answer)) {
        await this.#mustBeReady(call, answer, within)
        return await this.#inTurn(call, within, within, readAnswer)
      }
      return answer
    })
  }

  /** An answer that is read as it comes. The deadline is for its beginning; after that only `signal` ends it. */
  async stream(call: Call, signal: AbortSignal): Promise<Response | Answer> {
    return await withDeadline(REQUEST_MS, signal, (within) =>
      this.#inTurn(call, within, signal, async (response, server) =>
        response.statusCode === 200 ? response : await readAnswer(response, server),
      ),
    )
  }

  async close(): Promise<void> {
    await this.#credentials.close()
  }

  /**
   * An API server forbids everything to everyone from when it starts until it has read the rules of RBAC. Taken for a
   * real no, that would fail the rollout of every control node. Throws `PortError` `throttled` meanwhile.
   */
  async #mustBeReady(call: Call, forbidden: Answer, within: AbortSignal): Promise<void> {
    const readyz = { doing: call.doing, method: 'GET', path: '/readyz', accept: '*/*' } as const
    const { code } = await this.#inTurn(readyz, within, within, readAnswer, forbidden.server)
    if (code === 200) return
    const { message } = answerError(forbidden, call.doing)
    throw new PortError(
      'throttled',
      `${message} But ${forbidden.server}/readyz answers ${code}: it is starting.`,
    )
  }

  async #inTurn<T>(
    call: Call,
    within: AbortSignal,
    whole: AbortSignal,
    take: Take<T>,
    only: string | null = null,
  ): Promise<T> {
    const session = await this.#session(call, within)
    const servers = only === null ? this.#endpoints.inTurn(session.servers) : [only]
    const failures: (Failure & { server: string })[] = []
    for (const [index, server] of servers.entries()) {
      const mayMove = call.method === 'GET' && index < servers.length - 1
      try {
        const taken = await attempt(session, server, call, { within, whole, mayMove }, take)
        this.#endpoints.worked(server)
        return taken
      } catch (error) {
        const ended = within.aborted
        if (ended && !(within.reason instanceof DeadlineError)) throw within.reason
        const failure = failureOf(ended ? within.reason : error)
        this.#endpoints.failed(server, session.servers)
        failures.push({ ...failure, server })
        if (ended || (call.method !== 'GET' && !failure.unsent)) break
      }
    }
    throw noAnswerError(failures, call.doing)
  }

  async #session(call: Call, within: AbortSignal): Promise<Session> {
    try {
      return await unlessAborted(this.#credentials.session(), within)
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error
      throw noAnswerError([{ ...failureOf(error), server: "the kubeconfig's plugin" }], call.doing)
    }
  }
}

async function attempt<T>(
  session: Session,
  server: string,
  call: Call,
  { within, whole, mayMove }: { within: AbortSignal; whole: AbortSignal; mayMove: boolean },
  take: Take<T>,
): Promise<T> {
  const response = mayMove
    ? await withDeadline(PATIENCE_MS, within, (firstByte) =>
        send(session, server, call, { firstByte, whole }),
      )
    : await send(session, server, call, { firstByte: within, whole })
  if (mayMove && GATEWAY_CODES.includes(response.statusCode)) {
    await response.body.dump()
    throw new Error(`it answered ${response.statusCode}`)
  }
  return await unlessAborted(take(response, server), within)
}
