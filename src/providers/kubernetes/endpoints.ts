/** Which API server to ask first: the one that worked last. */
export class Endpoints {
  #preferred: string | null = null

  /** All of them, the preferred one first, the others in their own order after it. */
  inTurn(servers: readonly string[]): string[] {
    const first = this.#preferred === null ? -1 : servers.indexOf(this.#preferred)
    return first < 1 ? [...servers] : [...servers.slice(first), ...servers.slice(0, first)]
  }

  worked(server: string): void {
    this.#preferred = server
  }

  /** The next call starts elsewhere, also when this one may not: a write that got no answer is not sent twice. */
  failed(server: string, servers: readonly string[]): void {
    const next = servers[(servers.indexOf(server) + 1) % servers.length]
    if (next !== undefined && this.inTurn(servers)[0] === server) this.#preferred = next
  }
}
