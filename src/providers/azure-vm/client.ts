import { ComputeManagementClient } from '@azure/arm-compute'
import { DefaultAzureCredential } from '@azure/identity'
import { EnvHttpProxyAgent, fetch } from 'undici'
import { answerWithin, DeadlineError } from '../../ports/deadline.js'
import { PortError } from '../../ports/errors.js'
import type { AzureEnvironment } from './environment.js'
import { asPortError, secondsOf } from './errors.js'
import { type Pace, paceOf } from './pace.js'
import { type Pages, pageFrom, signalOfEveryPage } from './pages.js'
import { Places } from './places.js'

/** What every call of the SDK is given. */
export interface CallOptions {
  readonly abortSignal: AbortSignal
  readonly onResponse: (response: { headers: { get(name: string): string | undefined } }) => void
}

/** As much of a poller as is used: that the call was accepted. Operations are followed by hand. */
interface Accepted {
  submitted(): Promise<void>
}

export interface PollAnswer {
  readonly status: number
  readonly body: unknown
}

/** A call that changes a machine. */
export interface Write {
  /** Names it for throttling. */
  readonly kind: string
  /** Of the machine. */
  readonly id: string
  /** For messages. */
  readonly what: string
}

/** A takeover waits so long until no call of an old holder can be on its way any more. */
const DEADLINE_MS = 10_000
/** The list of sizes is megabytes. */
const SIZES_DEADLINE_MS = 30_000
/** A poll is cheap (15,000 in three minutes), and operations often end sooner than Azure says. */
const LONGEST_POLL_PAUSE_SECONDS = 10
const SCOPE = 'https://management.azure.com/.default'

/**
 * The SDK with our own patience: no retries and no polling of its own, a deadline on every request, a place in line
 * before it goes out, and every error a `PortError`. A read waits for its turn; a call that changes something does not
 * wait in here, where nobody looks again before it goes out.
 */
export class AzureClient {
  readonly #compute: ComputeManagementClient
  readonly #credential: DefaultAzureCredential
  readonly #endpoint: URL
  readonly #scope: string
  readonly #dispatcher: EnvHttpProxyAgent
  readonly #pace: Pace
  readonly #places: Places
  /** Operations not to be asked for before (monotonic milliseconds). */
  readonly #pollAfter = new Map<string, number>()

  constructor(subscriptionId: string, { endpoint, scope, ca, requestsPerSecond }: AzureEnvironment) {
    this.#pace = paceOf(endpoint, subscriptionId, requestsPerSecond)
    this.#places = new Places(this.#pace.writes)
    this.#endpoint = new URL(endpoint)
    this.#scope = scope ?? SCOPE
    const tls = ca === null ? {} : { tlsOptions: { ca: ca.join('\n') } }
    this.#credential = new DefaultAzureCredential(tls)
    this.#compute = new ComputeManagementClient(this.#credential, subscriptionId, {
      endpoint,
      // Sleeping for as long as Retry-After says, inside an activity, is what Temporal is there for.
      retryOptions: { maxRetries: 0 },
      ...(scope === null ? {} : { credentials: { scopes: [scope] } }),
      ...tls,
      additionalPolicies: [{ policy: signalOfEveryPage, position: 'perCall' }],
    })
    this.#dispatcher = new EnvHttpProxyAgent(
      ca === null ? {} : { connect: { ca: [...ca] }, requestTls: { ca: [...ca] } },
    )
  }

  /** A call that changes nothing. `kind` names it for throttling, `what` for messages. */
  read<T>(
    kind: string,
    what: string,
    signal: AbortSignal,
    call: (compute: ComputeManagementClient, options: Pick<CallOptions, 'abortSignal'>) => Promise<T>,
  ): Promise<T> {
    return this.#read(kind, what, signal, (abortSignal) => call(this.#compute, { abortSignal }))
  }

  /** All items of a paged list; every page has a turn and a deadline of its own. */
  async list<T>(
    kind: string,
    what: string,
    signal: AbortSignal,
    call: (compute: ComputeManagementClient, options: Pick<CallOptions, 'abortSignal'>) => Pages<T>,
  ): Promise<T[]> {
    const items: T[] = []
    let url: string | undefined
    do {
      if (url !== undefined && !this.mayAsk(url))
        throw new PortError('refused', `${what}: its next page is said to be at ${url.slice(0, 100)}`)
      const from = url
      const page = await this.read(kind, what, signal, (compute, options) =>
        pageFrom(call(compute, options), from, options.abortSignal),
      )
      items.push(...page.items)
      url = page.next
    } while (url !== undefined)
    return items
  }

  /** Seconds until the machine's next `accept` may go out; its place is kept. */
  turn(id: string): number {
    return this.#places.wait(id)
  }

  /**
   * A call that Azure accepts and works on: the URL of its operation, or null when it named none. Throws `throttled`, with
   * nothing sent, when its turn has not come.
   */
  async accept(
    { kind, id, what }: Write,
    signal: AbortSignal,
    call: (compute: ComputeManagementClient, options: CallOptions) => Accepted,
  ): Promise<string | null> {
    signal.throwIfAborted()
    this.#pace.quiet.mustBeOver(kind, what)
    this.#places.use(id, what)
    return this.#call(kind, what, signal, async (abortSignal) => {
      let operation: string | null = null
      let pause: number | null = null
      const poller = call(this.#compute, {
        abortSignal,
        onResponse: ({ headers }) => {
          operation ??= headers.get('azure-asyncoperation') ?? null
          pause ??= secondsOf(headers.get('retry-after'))
        },
      })
      await poller.submitted()
      if (operation !== null) this.#notBefore(operation, pause)
      return operation
    })
  }

  /** Does this URL lead to where the worker was told to go? Its token goes nowhere else, whatever an answer says. */
  mayAsk(url: string): boolean {
    return URL.canParse(url) && new URL(url).origin === this.#endpoint.origin
  }

  /** The state of an operation; null while Azure has asked not to be asked. */
  async poll(url: string, signal: AbortSignal): Promise<PollAnswer | null> {
    if (performance.now() < (this.#pollAfter.get(url) ?? 0)) return null
    const what = 'operation'
    return this.#read('operation', what, signal, async (abortSignal) => {
      const token = await this.#credential.getToken(this.#scope, { abortSignal })
      const response = await fetch(url, {
        headers: { authorization: `Bearer ${token.token}`, accept: 'application/json' },
        dispatcher: this.#dispatcher,
        signal: abortSignal,
      })
      const text = await response.text()
      const pause = secondsOf(response.headers.get('retry-after'))
      if (response.status === 429) {
        this.#pace.quiet.begin('operation', pause ?? 1)
        throw new PortError('throttled', `${what}: 429`, { retryAfterSeconds: pause ?? 1 })
      }
      this.#notBefore(url, pause)
      return { status: response.status, body: json(text) }
    })
  }

  #notBefore(url: string, seconds: number | null): void {
    if (seconds === null || seconds === 0) this.#pollAfter.delete(url)
    else this.#pollAfter.set(url, performance.now() + Math.min(seconds, LONGEST_POLL_PAUSE_SECONDS) * 1000)
  }

  async #read<T>(
    kind: string,
    what: string,
    signal: AbortSignal,
    call: (abortSignal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted()
    this.#pace.quiet.mustBeOver(kind, what)
    await this.#pace.reads.turn(signal)
    return this.#call(kind, what, signal, call)
  }

  async #call<T>(
    kind: string,
    what: string,
    signal: AbortSignal,
    call: (abortSignal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const deadlineMs = kind === 'skus' ? SIZES_DEADLINE_MS : DEADLINE_MS
    try {
      // The SDK does not give up a token that does not come.
      return await answerWithin(deadlineMs, signal, call)
    } catch (error) {
      // Somebody's decision to stop is not Azure's fault and must not look like it.
      signal.throwIfAborted()
      if (error instanceof PortError) throw error
      if (error instanceof DeadlineError) throw new PortError('unreachable', `${what}: ${error.message}`)
      const failure = asPortError(what, error)
      if (failure.kind === 'throttled') this.#pace.quiet.begin(kind, failure.retryAfterSeconds ?? 1)
      throw failure
    }
  }
}

function json(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
