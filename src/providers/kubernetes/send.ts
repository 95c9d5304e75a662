import { type Dispatcher, request } from 'undici'
import { follow, unlessAborted } from '../../ports/deadline.js'
import type { Answer, Call } from './call.js'
import type { Session } from './credentials.js'

export type Response = Dispatcher.ResponseData

/**
 * One request to one API server. `firstByte` limits the time to the answer's headers, `whole` also its body; aborting
 * either closes the connection.
 */
export async function send(
  session: Session,
  server: string,
  call: Call,
  limits: { readonly firstByte: AbortSignal; readonly whole: AbortSignal },
): Promise<Response> {
  const connection = new AbortController()
  const letGoFirstByte = follow(limits.firstByte, connection)
  const letGoWhole = follow(limits.whole, connection)
  try {
    const asked = request(urlOf(server, call), {
      dispatcher: session.dispatcher,
      method: call.method,
      headers: headersOf(session, call),
      body: call.body === undefined ? null : JSON.stringify(call.body),
      signal: connection.signal,
      reset: call.alone === true,
    })
    // While it still connects, undici only takes note of an abort and rejects once it has connected.
    const response = await unlessAborted(asked, connection.signal)
    response.body.once('close', letGoWhole)
    return response
  } catch (error) {
    letGoWhole()
    throw error
  } finally {
    letGoFirstByte()
  }
}

/** The whole answer, whatever its status. */
export async function readAnswer(response: Response, server: string): Promise<Answer> {
  const date = Date.parse(String(response.headers.date ?? ''))
  const retryAfter = Number.parseInt(String(response.headers['retry-after'] ?? ''), 10)
  return {
    code: response.statusCode,
    text: await response.body.text(),
    server,
    dateMs: Number.isNaN(date) ? null : date,
    retryAfterSeconds: Number.isNaN(retryAfter) ? null : retryAfter,
  }
}

function urlOf(server: string, call: Call): URL {
  const url = new URL(server + call.path)
  for (const [name, value] of Object.entries(call.query ?? {})) url.searchParams.set(name, value)
  return url
}

function headersOf(session: Session, call: Call): Record<string, string> {
  return {
    ...session.headers,
    'user-agent': 'noderoll',
    accept: call.accept ?? 'application/json',
    ...(call.body === undefined ? {} : { 'content-type': call.contentType ?? 'application/json' }),
  }
}
