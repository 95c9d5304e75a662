/** One request, whichever API server it goes to. */
export interface Call {
  /** Completes "Could not …" in an error's message. */
  readonly doing: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly contentType?: string
  readonly accept?: string
  /** The connection is not kept for others: behind one address there may be several API servers. */
  readonly alone?: true
}

/** What an API server, or something in between, said. Any status. */
export interface Answer {
  readonly code: number
  readonly text: string
  readonly server: string
  /** The server's clock; null when it did not tell. */
  readonly dateMs: number | null
  readonly retryAfterSeconds: number | null
}
