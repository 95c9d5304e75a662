import { readdirSync, readFileSync } from 'node:fs'

const LIMIT_MS = 10_000

/**
 * Stops a process as if its machine hung: connections stay open and nothing answers. Returns when every thread of it stands
 * still: the signal takes a moment, and what a thread does in it a test would take for impossible.
 */
export function freeze(pid: number): void {
  process.kill(pid, 'SIGSTOP')
  const deadline = performance.now() + LIMIT_MS
  while (runs(pid)) {
    if (performance.now() > deadline) throw new Error(`process ${pid} does not stand still`)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
  }
}

export function thaw(pid: number): void {
  process.kill(pid, 'SIGCONT')
}

/** A thread that is gone does not run either. */
function runs(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).some((thread) => {
    try {
      // The name, in brackets before the state, may hold anything.
      const state = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8').replace(/^.*\) /s, '')[0] ?? ''
      return !'TtZX'.includes(state)
    } catch {
      return false
    }
  })
}
