/** What somebody asked of the API server, and what it answered. */
export interface AuditRecord {
  /** When the request arrived, milliseconds since 1970. */
  readonly time: number
  readonly user: string
  readonly userAgent: string
  readonly verb: string
  /** Empty for paths like /readyz. */
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  readonly code: number
  /** The object or patch that was sent; only for writes, and not for the constant reports of the kubelets. */
  readonly requestBody?: unknown
  readonly uri: string
}

export const WRITING_VERBS: readonly string[] = ['create', 'update', 'patch', 'delete', 'deletecollection']

const KEPT = 50_000

/** The last requests that have been answered, in the order of their answers. A watch is in it when it has ended. */
export class AuditLog {
  #records: AuditRecord[] = []
  #gone = 0

  /** The present end, as a position for `since`. */
  get end(): number {
    return this.#gone + this.#records.length
  }

  since(position: number): readonly AuditRecord[] {
    return this.#records.slice(Math.max(0, position - this.#gone))
  }

  add(record: AuditRecord): void {
    this.#records.push(record)
    if (this.#records.length <= KEPT * 2) return
    this.#records = this.#records.slice(-KEPT)
    this.#gone += KEPT + 1
  }
}
