import { setTimeout as wait } from 'node:timers/promises'
import type { KubernetesAccess } from '../../core/spec.js'
import { DeadlineError, unlessAborted, withDeadline } from '../../ports/deadline.js'
import { PortError } from '../../ports/errors.js'
import { Believed } from './believed.js'
import type { Answer, Call } from './call.js'
import { Credentials, type Session } from './credentials.js'
import { Endpoints } from './endpoints.js'
import { answerError, type Failure, failureOf, isForbiddenByRules, noAnswerError } from './errors.js'
import { PATIENCE_MS, REQUEST_MS } from './patience.js'
import { type Response, readAnswer, send } from './send.js'

type Take<T> = (response: Response, server: string) => Promise<T>

/** Written by a load balancer whose API server is gone, or by an API server on its way up or down. */
const GATEWAY_CODES = [502, 503, 504]

/** Before each further question whether something is really forbidden: an API server needs about a second to read the rules. */
const DOUBT_MS = [0, 500, 1_500]

/**
 * Requests to the API servers of one cluster. A read is tried on each of them in turn; a write goes to another one only
 * when the first certainly never saw it. Aborting the caller's signal closes the connection and rejects with its reason.
 */
export class KubernetesApi {
  readonly #credentials: Credentials
  readonly #endpoints = new Endpoints()
  readonly #believed = new Believed()
  #wasAccepted = false

  constructor(access: KubernetesAccess) {
    this.#credentials = new Credentials(access)
  }

  /** One whole answer within the deadline, whatever its status. Throws `PortError` `unreachable` when there is none. */
  async call(call: Call, signal: AbortSignal): Promise<Answer> {
    return await withDeadline(REQUEST_MS, signal, async (within) => {
      const answer = await this.#inTurn(call, within, within, readAnswer)
      // Neither of these has done anything, so a write may be sent again, too.
      if (answer.code === 401) return await this.#withOtherCredentials(call, within)
      if (answer.code < 300) this.#wasAccepted = true
      if (isForbiddenByRules(answer)) return await this.#doubted(call, answer, within)
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
   * What we have may have expired, or been replaced since we read it. Where it was accepted before, whoever renews it may be
   * late: throws `PortError` `unreachable` then. Those that never were are for a person to mend.
   */
  async #withOtherCredentials(call: Call, within: AbortSignal): Promise<Answer> {
    this.#credentials.forget()
    const answer = await this.#inTurn(call, within, within, readAnswer)
    if (answer.code < 300) this.#wasAccepted = true
    if (answer.code === 401 && this.#wasAccepted)
      throw new PortError('unreachable', answerError(answer, call.doing).message)
    return answer
  }

  /**
   * An API server forbids everything to everyone from when it starts until it has read the rules of RBAC. Taken for a
   * real no, that would fail the rollout of every control node. Behind a load balancer the question whether it is ready may
   * reach another one, so both are asked a few times, and not over one connection.
   */
  async #doubted(call: Call, forbidden: Answer, within: AbortSignal): Promise<Answer> {
    let answer = forbidden
    if (this.#believed.has(answer)) return answer
    for (const pauseMs of DOUBT_MS) {
      await wait(pauseMs, undefined, { signal: within }).catch(() => undefined)
      await this.#mustBeReady(call, answer, within)
      answer = await this.#inTurn({ ...call, alone: true }, within, within, readAnswer)
      if (!isForbiddenByRules(answer)) return answer
    }
    this.#believed.add(answer)
    return answer
  }

  /** Throws `PortError` `throttled` while the API server that forbids is starting. */
  async #mustBeReady(call: Call, forbidden: Answer, within: AbortSignal): Promise<void> {
    const readyz = { doing: call.doing, method: 'GET', path: '/readyz', accept: '*/*', alone: true } as const
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
