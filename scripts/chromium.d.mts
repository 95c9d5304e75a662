export function ensureChromium(options?: { log?: (line: string) => void }): Promise<string>
