import { z } from 'zod'
import { DeadlineError } from '../../ports/deadline.js'
import { PortError, type PortErrorKind } from '../../ports/errors.js'
import type { Answer } from './call.js'

/** The API server's own account of what went wrong. Anything else comes from something in between. */
const STATUS = z.object({
  kind: z.literal('Status'),
  reason: z.string().nullish(),
  message: z.string().nullish(),
  details: z
    .object({
      kind: z.string().nullish(),
      retryAfterSeconds: z.number().nullish(),
      causes: z.array(z.object({ reason: z.string().nullish(), message: z.string().nullish() })).nullish(),
    })
    .nullish(),
})

export type Status = z.infer<typeof STATUS>

/** Why there was no answer. */
export interface Failure {
  readonly why: string
  /** Certain that the server never saw the request, so that even a write may be tried elsewhere. */
  readonly unsent: boolean
  /** A person has to mend it: a certificate that does not fit. */
  readonly lasting: boolean
}

const KINDS: Readonly<Record<number, PortErrorKind>> = {
  404: 'notFound',
  409: 'conflict',
  410: 'conflict',
  429: 'throttled',
}

const NETWORK_WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ETIMEDOUT: 'connection timed out',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network unreachable',
  ENOTFOUND: 'unknown host name',
  EAI_AGAIN: 'host name cannot be resolved now',
  EPIPE: 'connection closed',
  UND_ERR_SOCKET: 'connection closed',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
}

/** `Status` when the answer is one; null when something else than an API server wrote it. */
export function statusOf(answer: Answer): Status | null {
  try {
    return STATUS.safeParse(JSON.parse(answer.text)).data ?? null
  } catch {
    return null
  }
}

/** Is it the authorizer that says no, and not some rule about the object? */
export function isForbiddenByRules(answer: Answer): boolean {
  return answer.code === 403 && / cannot \S+ (resource|path) /.test(statusOf(answer)?.message ?? '')
}

/** A failed answer in the words of the port. `doing` completes "Could not …". */
export function answerError(answer: Answer, doing: string): PortError {
  const status = statusOf(answer)
  const retryAfterSeconds = answer.retryAfterSeconds ?? status?.details?.retryAfterSeconds
  return new PortError(kindOf(answer.code, status), `Could not ${doing}: ${sayWhy(answer, status)}.`, {
    ...(typeof retryAfterSeconds === 'number' ? { retryAfterSeconds } : {}),
    notAllowed: answer.code === 401 || isForbiddenByRules(answer),
  })
}

/** When no API server gave an answer. */
export function noAnswerError(
  failures: readonly (Failure & { readonly server: string })[],
  doing: string,
): PortError {
  const told = failures.map(({ server, why }) => `${server}: ${why}`).join('; ')
  const lasting = failures.length > 0 && failures.every((failure) => failure.lasting)
  const kind = lasting ? 'refused' : 'unreachable'
  return new PortError(kind, `Could not ${doing}: ${told}.`, { notAllowed: lasting })
}

/** What became of a request that ended without an answer. */
export function failureOf(error: unknown): Failure {
  // One host name can stand for several addresses, each with an error of its own.
  const errors = error instanceof AggregateError && error.errors.length > 0 ? error.errors : [error]
  const failures = errors.map(oneFailure)
  return {
    why: failures[0]?.why ?? 'no answer',
    unsent: failures.every(({ unsent }) => unsent),
    lasting: failures.every(({ lasting }) => lasting),
  }
}

/** Text of others in a sentence of ours. */
export function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim().replace(/\.$/, '')
  return line.length > 300 ? `${line.slice(0, 300)}…` : line
}

function oneFailure(error: unknown): Failure {
  if (error instanceof DeadlineError) return { why: error.message, unsent: false, lasting: false }
  const { code, syscall } = codesOf(error)
  const words = NETWORK_WORDS[code]
  if (words !== undefined) {
    // Only these happen before a request can be written; a reset may come after.
    const unsent = ['connect', 'getaddrinfo'].includes(syscall) || code === 'UND_ERR_CONNECT_TIMEOUT'
    return { why: words, unsent, lasting: false }
  }
  if (/CERT|UNABLE_TO_|SELF_SIGNED/.test(code) && !code.includes('ALERT')) {
    return { why: `its certificate is not trusted (${code})`, unsent: true, lasting: true }
  }
  const said = error instanceof Error ? oneLine(error.message) : 'the connection failed'
  return { why: code === '' ? said : `the connection failed (${code})`, unsent: false, lasting: false }
}

function codesOf(error: unknown): { code: string; syscall: string } {
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown }
  return {
    code: typeof code === 'string' ? code : '',
    syscall: typeof syscall === 'string' ? syscall : '',
  }
}

function kindOf(code: number, status: Status | null): PortErrorKind {
  // A 404 of a proxy whose backend is gone must not pass for "the object does not exist".
  if (code >= 500 || code === 408 || (code === 404 && status === null)) return 'unreachable'
  return KINDS[code] ?? 'refused'
}

function sayWhy(answer: Answer, status: Status | null): string {
  if (answer.code === 401) return `${answer.server} does not accept the credentials (401)`
  const said = status?.message ?? status?.reason
  if (said) return `${oneLine(said)} (${answer.code})`
  return `${answer.server} answered ${answer.code}, and not as an API server does`
}
