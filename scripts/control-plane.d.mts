export function ensureControlPlane(options?: {
  log?: (line: string) => void
}): Promise<{ dir: string; version: string }>
