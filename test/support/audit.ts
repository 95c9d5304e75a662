import { randomUUID } from 'node:crypto'
import { open, stat } from 'node:fs/promises'
import { KubeApi } from './kube-api.js'
import { waitUntil } from './wait.js'

/** What somebody asked of an API server, and what it answered. */
export interface AuditRecord {
  /** When the request arrived, milliseconds since 1970. */
  time: number
  user: string
  userAgent: string
  verb: string
  /** Empty for URLs like /readyz. */
  resource: string
  subresource: string
  namespace: string
  name: string
  code: number
  /** The object or patch that was sent; only for writes. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every kind
  requestBody?: any
  uri: string
}

export type AuditFilter = Partial<AuditRecord> | ((record: AuditRecord) => boolean)

export interface AuditLogOptions {
  file: string
  /** Every API server that writes to the file. */
  urls: string[]
  ca: string
  token: string
}

const WRITES = ['create', 'update', 'patch', 'delete', 'deletecollection']
const MARKER = '/version?marker='

/**
 * The API servers' own record of who did what. `await settled()` before reading: then everything answered up to now is
 * in it. The log does not hold watches that are still open.
 */
export class AuditLog {
  readonly #options: AuditLogOptions
  readonly #apis: KubeApi[]

  constructor(options: AuditLogOptions) {
    this.#options = options
    this.#apis = options.urls.map((url) => new KubeApi({ url, ca: options.ca, token: options.token }))
  }

  /** The present end of the log, as a position for `since` and `writes`. */
  async mark(): Promise<number> {
    await this.settled()
    return (await stat(this.#options.file)).size
  }

  async since(position: number, filter: AuditFilter = {}): Promise<AuditRecord[]> {
    const matches = typeof filter === 'function' ? filter : (record: AuditRecord) => isLike(record, filter)
    const lines = (await this.#read(Math.max(0, position - 1))).split('\n')
    lines.pop() // the line being written, or nothing
    // The end of the one that was being written then, or nothing.
    if (position > 0) lines.shift()
    return lines.filter(isOfInterest).map(toRecord).filter(matches)
  }

  /** Only what changes something, by one user or by all of them; dry runs are in it. */
  async writes(position: number, user?: string): Promise<AuditRecord[]> {
    return await this.since(
      position,
      (record) => WRITES.includes(record.verb) && (user === undefined || record.user === user),
    )
  }

  /** Waits until every request that has been answered is in the log: sends one more and waits until that one is. */
  async settled(): Promise<void> {
    const markers = this.#apis.map(async (api) => {
      const position = (await stat(this.#options.file)).size
      const marker = randomUUID()
      await api.ok('GET', `${MARKER}${marker}`, undefined, { signal: AbortSignal.timeout(10_000) })
      await waitUntil(async () => (await this.#read(position)).includes(marker), {
        for: 'a request of ours in the audit log',
        timeoutMs: 10_000,
        everyMs: 5,
      })
    })
    await Promise.all(markers)
  }

  close(): void {
    for (const api of this.#apis) api.close()
  }

  async #read(position: number): Promise<string> {
    const file = await open(this.#options.file, 'r')
    try {
      const { size } = await file.stat()
      const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.max(0, size - position)), { position })
      return buffer.toString('utf8', 0, bytesRead)
    } finally {
      await file.close()
    }
  }
}

function isOfInterest(line: string): boolean {
  return line.includes('"ResponseComplete"') && !line.includes(MARKER)
}

function isLike(record: AuditRecord, wanted: Partial<AuditRecord>): boolean {
  return Object.entries(wanted).every(([key, value]) => record[key as keyof AuditRecord] === value)
}

function toRecord(line: string): AuditRecord {
  const event = JSON.parse(line)
  const target = event.objectRef ?? {}
  return {
    time: Date.parse(event.requestReceivedTimestamp),
    user: event.user?.username ?? '',
    userAgent: event.userAgent ?? '',
    verb: event.verb,
    resource: target.resource ?? '',
    subresource: target.subresource ?? '',
    namespace: target.namespace ?? '',
    name: target.name ?? '',
    code: event.responseStatus?.code ?? 0,
    ...(event.requestObject === undefined ? {} : { requestBody: event.requestObject }),
    uri: event.requestURI,
  }
}
