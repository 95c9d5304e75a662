export function ensureTemporalCli(options?: { log?: (line: string) => void }): Promise<string | null>
