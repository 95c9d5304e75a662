import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { type Agent, request } from 'node:https'

export interface ProxiedResponse {
  status: number
  headers: OutgoingHttpHeaders
  body: string
}

/** Resolves when the answer begins. */
export function ask(
  upstream: string,
  agent: Agent,
  wanted: { method: string; path: string; headers: IncomingHttpHeaders; bytes?: Buffer },
  reader?: ServerResponse,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { bytes = Buffer.alloc(0) } = wanted
    const headers = Object.entries(withoutHopByHop(wanted.headers)).filter(([, value]) => value !== undefined)
    // A body that came in chunks leaves in one piece.
    if (bytes.length > 0) headers.push(['content-length', bytes.length])
    const sent = request(new URL(wanted.path, upstream), {
      method: wanted.method,
      agent,
      headers: Object.fromEntries(headers),
    })
    sent.once('response', resolve)
    sent.once('error', reject)
    // Who no longer watches shall not be watched for; a write is on its way, whoever has given up.
    if (wanted.method === 'GET') reader?.once('close', () => sent.destroy())
    sent.end(bytes)
  })
}

const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'host',
  'upgrade',
  'te',
  'trailer',
])

export function withoutHopByHop(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name)))
}

export async function whole(answered: IncomingMessage): Promise<ProxiedResponse> {
  return {
    status: answered.statusCode ?? 502,
    headers: withoutHopByHop(answered.headers),
    body: (await bytesOf(answered)).toString(),
  }
}

export async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

export function send(outgoing: ServerResponse, { status, headers, body }: ProxiedResponse): void {
  const bytes = Buffer.from(body)
  outgoing.writeHead(status, { ...headers, 'content-length': bytes.length })
  outgoing.end(bytes)
}
