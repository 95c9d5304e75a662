import { readFile } from 'node:fs/promises'
import { Agent, request } from 'undici'
import type { z } from 'zod'
import { answerWithin } from '../../ports/deadline.js'

/** A member that hangs must not hold up what the others have to say, in milliseconds. */
const DEADLINE_MS = 2_000

/** Certificates are renewed under a worker's feet: connections are made anew from the files after so long. */
const REREAD_MS = 60_000

/** What was said, or why nothing was. */
export type Said<T> = { readonly answer: T } | { readonly why: string }

export interface TlsFiles {
  readonly caFile?: string | undefined
  readonly certFile?: string | undefined
  readonly keyFile?: string | undefined
}

/** HTTP to single members and API servers: each question has a deadline, and a failure is an answer, too. */
export class Asking {
  readonly #files: TlsFiles
  #agent: Promise<Agent> | null = null
  #madeAt = 0

  constructor(files: TlsFiles) {
    this.#files = files
  }

  /** The status and text of an answer, whatever they are. Throws only `signal`'s reason. */
  async text(
    url: string,
    signal: AbortSignal,
    body?: unknown,
    deadlineMs = DEADLINE_MS,
  ): Promise<Said<{ readonly status: number; readonly text: string }>> {
    try {
      return await answerWithin(deadlineMs, signal, async (within) => {
        const response = await request(url, {
          dispatcher: await this.#connections(),
          method: body === undefined ? 'GET' : 'POST',
          ...(body === undefined
            ? {}
            : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
          signal: within,
        })
        return { answer: { status: response.statusCode, text: await response.body.text() } }
      })
    } catch (error) {
      // Somebody's decision to stop is no answer of the member's.
      signal.throwIfAborted()
      return { why: `${url}: ${this.#inWords(error)}` }
    }
  }

  /** A JSON answer with status 200. */
  async json<T>(url: string, answer: z.ZodType<T>, signal: AbortSignal, body?: unknown): Promise<Said<T>> {
    const said = await this.text(url, signal, body)
    if ('why' in said) return said
    const { status, text } = said.answer
    if (status !== 200) return { why: `${url} answered ${status}: ${oneLine(text)}` }
    const parsed = answer.safeParse(maybeJson(text))
    return parsed.success
      ? { answer: parsed.data }
      : { why: `${url}: what answers there is not etcd: ${oneLine(text)}` }
  }

  #inWords(error: unknown): string {
    if (!(error instanceof Error)) return String(error)
    const words = error.message || ('code' in error ? String(error.code) : error.name)
    // All that TLS 1.3 shows of a server that misses the client's certificate.
    const hint =
      words === 'other side closed' && this.#files.certFile === undefined
        ? ' (it may want a client certificate)'
        : ''
    return words + hint
  }

  /** One set of connections for questions asked at the same time, too: it is made by the first of them. */
  #connections(): Promise<Agent> {
    if (this.#agent !== null && performance.now() - this.#madeAt < REREAD_MS) return this.#agent
    // What still runs on the old ones comes to its end.
    void this.#agent?.then((agent) => agent.close()).catch(() => undefined)
    const agent = connectionsWith(this.#files)
    this.#agent = agent
    this.#madeAt = performance.now()
    agent.catch(() => {
      if (this.#agent === agent) this.#agent = null
    })
    return agent
  }
}

async function connectionsWith({ caFile, certFile, keyFile }: TlsFiles): Promise<Agent> {
  const [ca, cert, key] = await Promise.all(
    [caFile, certFile, keyFile].map((path) => (path === undefined ? undefined : readFile(path, 'utf8'))),
  )
  return new Agent({
    connect: {
      timeout: DEADLINE_MS,
      // Said explicitly, since NODE_TLS_REJECT_UNAUTHORIZED=0 in a worker's environment would win otherwise.
      rejectUnauthorized: true,
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined || key === undefined ? {} : { cert, key }),
    },
  })
}

export function oneLine(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ').slice(0, 200)
}

function maybeJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
