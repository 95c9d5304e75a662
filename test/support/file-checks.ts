const checks: (() => Promise<void>)[] = []

/** What is to hold at the end of every test file from now on: a hook of a module reaches only the first file that needs it. */
export function atEndOfFile(check: () => Promise<void>): void {
  checks.push(check)
}

export async function runFileChecks(): Promise<void> {
  for (const check of checks) await check()
}
