import { fetch } from 'undici'
import type { z } from 'zod'
import { answerWithin } from '../../ports/deadline.js'
import { PortError, type PortErrorKind } from '../../ports/errors.js'
import { problemAnswer } from './schema.js'

export interface CallOptions {
  readonly method?: 'GET' | 'POST' | 'PUT'
  readonly body?: unknown
  readonly deadlineMs?: number
  readonly signal: AbortSignal
}

const DEADLINE_MS = 10_000

/**
 * HTTP to the simulated cloud. Every request has a deadline. Throws `PortError`; when `signal` aborts, its reason.
 * An answer that breaks off, or a 5xx, is `unreachable`: the call may have taken effect.
 */
export class SimulatedClient {
  readonly #url: string

  constructor(url: string) {
    this.#url = url.replace(/\/+$/, '')
  }

  async call<T>(path: string, answer: z.ZodType<T>, options: CallOptions): Promise<T> {
    const { status, text, retryAfterSeconds } = await this.send(path, options)
    const what = `${options.method ?? 'GET'} ${path}`
    if (status >= 400) throw refusal(what, status, text, retryAfterSeconds)
    const parsed = answer.safeParse(json(what, text))
    if (parsed.success) return parsed.data
    const field = parsed.error.issues[0]
    throw new PortError(
      'refused',
      `${what}: answer not understood: ${field?.path.join('.')}: ${field?.message}`,
    )
  }

  /** One request whose answer the caller wants to see whatever its status is. */
  async send(
    path: string,
    { method = 'GET', body, deadlineMs = DEADLINE_MS, signal }: CallOptions,
  ): Promise<{ status: number; text: string; retryAfterSeconds: number | null }> {
    try {
      return await answerWithin(deadlineMs, signal, async (within) => {
        const response = await fetch(this.#url + path, {
          method,
          headers: { 'x-client': `noderoll/${process.pid}`, 'content-type': 'application/json' },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          signal: within,
        })
        const text = await response.text()
        const retryAfter = Number.parseInt(response.headers.get('retry-after') ?? '', 10)
        const retryAfterSeconds = Number.isNaN(retryAfter) ? null : retryAfter
        return { status: response.status, text, retryAfterSeconds }
      })
    } catch (error) {
      // Somebody's decision to stop is not the cloud's fault and must not look like it.
      signal.throwIfAborted()
      const why =
        error instanceof Error ? [error.message, causeOf(error)].filter(Boolean).join(': ') : String(error)
      throw new PortError('unreachable', `${method} ${path}: no answer from the simulated cloud: ${why}`, {
        cause: error,
      })
    }
  }
}

function refusal(what: string, status: number, text: string, retryAfterSeconds: number | null): PortError {
  const problem = problemAnswer.safeParse(maybeJson(text))
  const { code, message } = problem.success
    ? problem.data
    : { code: `HTTP ${status}`, message: text.slice(0, 200) }
  return new PortError(kindOf(status, code), `${what}: ${status} ${code}: ${message}`, {
    ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
  })
}

function kindOf(status: number, code: string): PortErrorKind {
  if (code === 'InsufficientCapacity') return 'capacity'
  if (status === 409 && code === 'OperationInProgress') return 'conflict'
  if (status === 404) return 'notFound'
  if (status === 429) return 'throttled'
  return status >= 500 ? 'unreachable' : 'refused'
}

function json(what: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new PortError('unreachable', `${what}: the answer broke off`, { cause: error })
  }
}

function maybeJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function causeOf(error: Error): string | null {
  return error.cause instanceof Error ? error.cause.message : null
}
